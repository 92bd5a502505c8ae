#include "egress/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE_ARCH AUDIT_ARCH_RISCV64
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#define DATA_BYTES (1024ul * 1024 * 1024) /* 1,024 connections at their worst need 130 MiB */

static int
refused(struct pkg_error *err, const char *what)
{
	return pkg_error_set(
		err, PKG_E_SANDBOX, "the egress proxy cannot %s (errno %d)", what, errno);
}

/* A list of what is denied: the name service's modules call whatever they like, and an allowlist
 * would break name resolution on some machine in some year. */
static int
deny_calls(struct pkg_error *err)
{
#ifdef NATIVE_ARCH
#define DENY(name)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
	static const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef __x86_64__
		/* x32 has its own numbers for the same calls. */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
#endif
#ifndef SANITIZED /* the leak checker stops its own threads by it */
		DENY(ptrace),
#endif
		DENY(execve),
		DENY(execveat),
		DENY(process_vm_readv),
		DENY(process_vm_writev),
		DENY(pidfd_getfd),
		DENY(kcmp),
		DENY(mount),
		DENY(umount2),
		DENY(pivot_root),
		DENY(chroot),
		DENY(setns),
		DENY(unshare),
		DENY(open_by_handle_at),
		DENY(bpf),
		DENY(perf_event_open),
		DENY(userfaultfd),
		DENY(keyctl),
		DENY(add_key),
		DENY(request_key),
		DENY(init_module),
		DENY(finit_module),
		DENY(delete_module),
		DENY(kexec_load),
		DENY(reboot),
		DENY(swapon),
		DENY(swapoff),
		DENY(io_uring_setup),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
#undef DENY
	const struct sock_fprog program = { .len = PKG_ARRAY_LEN(filter),
		.filter = (struct sock_filter *)(uintptr_t)filter };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return refused(err, "install its system call filter");
#else
	(void)err;
#endif
	return 0;
}

/* No right to write, make or remove anything by name. An error is no error: kernels before 5.13 and
 * those built without it have none. */
static void
deny_writing(void)
{
	const struct landlock_ruleset_attr attributes = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
			LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
			LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
			LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			LANDLOCK_ACCESS_FS_MAKE_SYM,
	};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);

	if (fd < 0)
		return;
	(void)syscall(SYS_landlock_restrict_self, fd, 0);
	close(fd);
}

static int
drop_capabilities(struct pkg_error *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { 0 } };

	if (syscall(SYS_capset, &header, none) < 0)
		return refused(err, "drop its capabilities");
	return 0;
}

int
egress_confine(struct pkg_error *err)
{
	const struct rlimit no_core = { 0, 0 };

	(void)setrlimit(RLIMIT_CORE, &no_core);
#ifndef SANITIZED
	const struct rlimit data = { DATA_BYTES, DATA_BYTES };

	(void)setrlimit(RLIMIT_DATA, &data);
	/* Closes /proc/PID/mem and ptrace(2) to others of the same user. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return refused(err, "give up new privileges");
	if (drop_capabilities(err) < 0)
		return -1;
	deny_writing();
	return deny_calls(err);
}
