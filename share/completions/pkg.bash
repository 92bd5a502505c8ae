# bash completion for pkg(1): commands and options come from pkg's own help, so they cannot differ from it.

_pkg_commands() {
	LC_ALL=C pkg help 2>/dev/null | sed -n 's/^  \([a-z ]*[a-z]\)  .*/\1/p'
}

_pkg_options() {
	LC_ALL=C pkg help "$@" 2>/dev/null |
		sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p'
}

# Names that the daemon knows; none is started for a keypress.
_pkg_rows() {
	PKGD_NO_START=1 LC_ALL=C pkg "$@" -q 2>/dev/null
}

_pkg() {
	local cur prev
	local -a name=()
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	[ "$COMP_CWORD" -gt 1 ] && name+=("${COMP_WORDS[1]}")
	if [ "$COMP_CWORD" -gt 2 ] && _pkg_commands | grep -qx "${COMP_WORDS[1]} ${COMP_WORDS[2]}"; then
		name+=("${COMP_WORDS[2]}")
	fi
	COMPREPLY=()
	case $prev in
	-r | --requirement | -c | --constraint | --python)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	-l | --language)
		mapfile -t COMPREPLY < <(compgen -W 'python r' -- "$cur")
		return
		;;
	-e | --environment)
		mapfile -t COMPREPLY < <(compgen -W "$(_pkg_rows env list | awk '{ print $3 }')" -- "$cur")
		return
		;;
	--action)
		mapfile -t COMPREPLY < <(compgen -W 'install remove upgrade rollback' -- "$cur")
		return
		;;
	esac
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(
			compgen -W "$(_pkg_commands | sed 's/ .*//' | sort -u)" -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_pkg_options "${name[@]}")" -- "$cur")
	elif [ "$COMP_CWORD" -eq 2 ] && _pkg_commands | grep -q "^${name[0]} "; then
		mapfile -t COMPREPLY < <(
			compgen -W "$(_pkg_commands | sed -n "s/^${name[0]} //p")" -- "$cur")
	else
		case "${name[*]}" in
		'cards show' | 'cards approve' | 'cards deny')
			mapfile -t COMPREPLY < <(
				compgen -W "$(_pkg_rows cards list | awk '{ print $1 }')" -- "$cur")
			;;
		'jobs show' | 'jobs watch' | 'jobs cancel')
			mapfile -t COMPREPLY < <(
				compgen -W "$(_pkg_rows jobs list | awk '{ print $1 }')" -- "$cur")
			;;
		'env show' | 'env remove' | 'env repair')
			mapfile -t COMPREPLY < <(
				compgen -W "$(_pkg_rows env list | awk '{ print $3 }')" -- "$cur")
			;;
		remove | upgrade | show)
			mapfile -t COMPREPLY < <(
				compgen -W "$(_pkg_rows list | awk '{ print $1 }')" -- "$cur")
			;;
		esac
	fi
}

complete -F _pkg pkg
