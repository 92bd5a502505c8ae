/* pkg - the command line. cli/commands.c holds the table of its commands. */
#include "cli/cli.h"

int
main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
