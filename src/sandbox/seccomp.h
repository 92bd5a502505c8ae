/* sandbox/seccomp.h - the system calls that nothing inside may make.
 * Purpose    A table with a reason for each row, made into one BPF program by libseccomp and kept
 * in a sealed memfd that bwrap reads. Ownership  The descriptor is given to the caller,
 * close-on-exec. Errors     PKG_E_SANDBOX when libseccomp cannot build the filter for this machine.
 */
#ifndef SANDBOX_SECCOMP_H
#define SANDBOX_SECCOMP_H
#include "core/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is compared before a row applies; every comparison names one argument. */
enum sandbox_seccomp_test {
	SANDBOX_SECCOMP_ALWAYS,
	SANDBOX_SECCOMP_BITS, /* all bits of value are set in the argument */
	SANDBOX_SECCOMP_LOW32, /* the low 32 bits are value: the kernel looks at no more */
	SANDBOX_SECCOMP_EQUAL,
	SANDBOX_SECCOMP_ABOVE,
	SANDBOX_SECCOMP_NOT, /* differs from value */
	SANDBOX_SECCOMP_NETLINK /* argument 0 is AF_NETLINK and argument 2 differs from value */
};

struct sandbox_seccomp_row {
	const char *name; /* of the system call */
	int error; /* errno that the caller gets */
	enum sandbox_seccomp_test test;
	unsigned int argument;
	uint64_t value;
	const char *reason;
	bool foreign_only; /* programs of ours, where nothing else runs, may make it */
};

const struct sandbox_seccomp_row *sandbox_seccomp_rows(size_t *count);
/* A sealed memfd with the program, its offset at 0. */
int sandbox_seccomp_export(struct pkg_error *err);
/* The same without the rows that are for foreign code only: for a purpose that runs none. */
int sandbox_seccomp_export_trusted(struct pkg_error *err);
/* A new open file description of the same program: bwrap reads to the end, and an offset is shared
 * between duplicates. */
int sandbox_seccomp_reopen(int memfd, struct pkg_error *err);
#endif
