# fish completion for pkg(1): commands and options come from pkg's own help, so they cannot differ from it.

function __pkg_commands
	LC_ALL=C pkg help 2>/dev/null | sed -n 's/^  \([a-z ]*[a-z]\)  .*/\1/p'
end

# The words of the command's name that are typed already.
function __pkg_name
	set -l words (commandline -opc)
	set -e words[1]
	if test (count $words) -ge 2; and __pkg_commands | grep -qx "$words[1] $words[2]"
		echo $words[1] $words[2]
	else if test (count $words) -ge 1
		echo $words[1]
	end
end

# Names that the daemon knows; none is started for a keypress.
function __pkg_rows
	PKGD_NO_START=1 LC_ALL=C pkg $argv -q 2>/dev/null
end

function __pkg_words
	set -l name (__pkg_name)
	switch "$name"
		case ''
			__pkg_commands | sed 's/ .*//' | sort -u
		case 'cards show' 'cards approve' 'cards deny'
			__pkg_rows cards list | awk '{ print $1 }'
		case 'jobs show' 'jobs watch' 'jobs cancel'
			__pkg_rows jobs list | awk '{ print $1 }'
		case 'env show' 'env remove' 'env repair'
			__pkg_rows env list | awk '{ print $3 }'
		case remove upgrade show
			__pkg_rows list | awk '{ print $1 }'
		case '*'
			__pkg_commands | sed -n "s/^$name //p"
	end
end

function __pkg_options
	set -l name (string split ' ' (__pkg_name))
	test -n "$name"; or return
	LC_ALL=C pkg help $name 2>/dev/null | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p'
end

complete -c pkg -f
complete -c pkg -a '(__pkg_words)'
complete -c pkg -n 'string match -q -- "-*" (commandline -ct)' -a '(__pkg_options)'
complete -c pkg -s r -l requirement -r -F
complete -c pkg -s c -l constraint -r -F
complete -c pkg -l python -r -F
complete -c pkg -s l -l language -x -a 'python r'
complete -c pkg -s e -l environment -x -a '(__pkg_rows env list | awk "{ print \$3 }")'
