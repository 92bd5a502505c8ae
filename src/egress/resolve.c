#include "egress/resolve.h"

#include "egress/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_BYTES                                                                                \
	(512 * 1024) /* NSS modules of some sites are greedy; 8 MiB each would be silly */
#define ANSWERS_MAX 256

struct egress_lookup {
	struct egress_lookup *next;
	char name[256]; /* a struct policy_host's */
	egress_resolved_fn *fn; /* NULL: cancelled. Only the loop's thread touches fn and owner. */
	void *owner;
	struct egress_addresses answer;
};

/* Lives until the loop's side and every thread have let go. */
struct egress_resolver {
	struct egress_watch watch; /* first: the eventfd that says "done is not empty" */
	struct egress_loop *loop;
	int wake; /* threads write to their own duplicate, which the loop cannot close under them */
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct egress_lookup *todo, **todo_end;
	struct egress_lookup *done;
	unsigned threads, idle, references;
	bool quit;
};

static void
free_list(struct egress_lookup *lookup)
{
	while (lookup) {
		struct egress_lookup *next = lookup->next;

		free(lookup->answer.items);
		free(lookup);
		lookup = next;
	}
}

/* With the lock held; unlocks. */
static void
let_go(struct egress_resolver *resolver)
{
	bool last = --resolver->references == 0;

	pthread_mutex_unlock(&resolver->lock);
	if (!last)
		return;
	free_list(resolver->todo);
	free_list(resolver->done);
	pthread_cond_destroy(&resolver->work);
	pthread_mutex_destroy(&resolver->lock);
	pkg_close(&resolver->wake);
	free(resolver);
}

static void
add_answer(struct egress_addresses *answer, const struct sockaddr *sa,
	const struct policy_own_addresses *own)
{
	struct egress_address *item = &answer->items[answer->count];

	if (!policy_address_from_sockaddr(sa, &item->address))
		return;
	item->class = policy_address_class(&item->address);
	if (item->class == POLICY_ADDRESS_PUBLIC && policy_own_addresses_has(own, &item->address))
		item->class = POLICY_ADDRESS_OWN;
	answer->count++;
}

static void
ask(struct egress_lookup *lookup)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct policy_own_addresses own = { 0 };
	struct addrinfo *list = NULL;
	size_t count = 0;

	/* Without knowing our own addresses nothing can be called foreign. */
	if (policy_own_addresses_read(&own, NULL) < 0) {
		lookup->answer.error = EAI_SYSTEM;
		return;
	}
	lookup->answer.error = getaddrinfo(lookup->name, NULL, &hints, &list);
	for (struct addrinfo *i = list; lookup->answer.error == 0 && i; i = i->ai_next)
		count++;
	/* An answer too long to check is no answer. */
	if (count > ANSWERS_MAX)
		lookup->answer.error = EAI_FAIL;
	lookup->answer.items = pkg_xcalloc(count ? count : 1, sizeof(*lookup->answer.items));
	for (struct addrinfo *i = list; lookup->answer.error == 0 && i; i = i->ai_next)
		add_answer(&lookup->answer, i->ai_addr, &own);
	if (list)
		freeaddrinfo(list);
	if (lookup->answer.error == 0 && lookup->answer.count == 0)
		lookup->answer.error = EAI_NONAME;
	policy_own_addresses_clear(&own);
}

static void *
run_thread(void *context)
{
	struct egress_resolver *resolver = context;
	const uint64_t one = 1;

	pthread_mutex_lock(&resolver->lock);
	for (;;) {
		struct egress_lookup *lookup;

		resolver->idle++;
		while (!resolver->todo && !resolver->quit)
			pthread_cond_wait(&resolver->work, &resolver->lock);
		resolver->idle--;
		if (resolver->quit)
			break;
		lookup = resolver->todo;
		resolver->todo = lookup->next;
		if (!resolver->todo)
			resolver->todo_end = &resolver->todo;
		pthread_mutex_unlock(&resolver->lock);
		ask(lookup);
		pthread_mutex_lock(&resolver->lock);
		lookup->next = resolver->done;
		resolver->done = lookup;
		(void)!write(resolver->wake, &one, sizeof(one));
	}
	let_go(resolver);
	return NULL;
}

static int
start_thread(struct egress_resolver *resolver)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, &attributes, run_thread, resolver);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return rc;
}

static void
answers_ready(struct egress_watch *watch, uint32_t events)
{
	struct egress_resolver *resolver = (struct egress_resolver *)(void *)watch;
	struct egress_lookup *done;
	uint64_t count;

	(void)events;
	(void)!read(watch->fd, &count, sizeof(count));
	pthread_mutex_lock(&resolver->lock);
	done = resolver->done;
	resolver->done = NULL;
	pthread_mutex_unlock(&resolver->lock);
	for (struct egress_lookup *i = done; i; i = i->next)
		if (i->fn)
			i->fn(i->owner, &i->answer);
	free_list(done);
}

struct egress_resolver *
egress_resolver_new(struct egress_loop *loop, struct pkg_error *err)
{
	struct egress_resolver *resolver = pkg_xcalloc(1, sizeof(*resolver));

	egress_watch_init(&resolver->watch, answers_ready);
	resolver->loop = loop;
	resolver->todo_end = &resolver->todo;
	resolver->references = 1;
	resolver->watch.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	resolver->wake =
		resolver->watch.fd < 0 ? -1 : fcntl(resolver->watch.fd, F_DUPFD_CLOEXEC, 0);
	if (resolver->wake < 0) {
		pkg_error_errno(err, errno, "create an eventfd");
		pkg_close(&resolver->watch.fd);
		free(resolver);
		return NULL;
	}
	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->work, NULL);
	egress_watch_want(loop, &resolver->watch, EPOLLIN);
	return resolver;
}

void
egress_resolver_free(struct egress_resolver *resolver)
{
	if (!resolver)
		return;
	egress_watch_want(resolver->loop, &resolver->watch, EGRESS_UNWATCHED);
	egress_watch_close(resolver->loop, &resolver->watch);
	pthread_mutex_lock(&resolver->lock);
	resolver->quit = true;
	pthread_cond_broadcast(&resolver->work);
	let_go(resolver);
}

struct egress_lookup *
egress_resolve(
	struct egress_resolver *resolver, const char *name, egress_resolved_fn *fn, void *owner)
{
	struct egress_lookup *lookup = pkg_xcalloc(1, sizeof(*lookup));
	const uint64_t one = 1;

	lookup->fn = fn;
	lookup->owner = owner;
	strncpy(lookup->name, name, sizeof(lookup->name) - 1);
	pthread_mutex_lock(&resolver->lock);
	if (resolver->idle == 0 && resolver->threads < EGRESS_RESOLVERS) {
		/* Counted before it runs, because it may be gone before we look again. */
		resolver->references++;
		if (start_thread(resolver) == 0)
			resolver->threads++;
		else
			resolver->references--;
	}
	if (resolver->threads == 0) {
		lookup->answer.error = EAI_MEMORY;
		lookup->next = resolver->done;
		resolver->done = lookup;
		(void)!write(resolver->wake, &one, sizeof(one));
	} else {
		*resolver->todo_end = lookup;
		resolver->todo_end = &lookup->next;
		pthread_cond_signal(&resolver->work);
	}
	pthread_mutex_unlock(&resolver->lock);
	return lookup;
}

void
egress_lookup_cancel(struct egress_lookup *lookup)
{
	if (lookup)
		lookup->fn = NULL;
}
