/* egress/pump.h - bytes from one socket to another, one direction.
 * Purpose    Copies while a flow is small, splices through a pooled pipe once it is big (measured:
 *            twice the throughput and half the CPU). Never holds more than one read's worth, never
 *            reads while the other side is behind: that is the whole of the back-pressure. An end
 *            of file is passed on as shutdown(SHUT_WR) when everything before it has been written.
 * Ownership  The pump borrows its two descriptors; it owns its backlog, and a pipe only while bytes
 *            are in it (struct egress_pipes owns the idle ones).
 * Errors     A negative errno from egress_pump_run(); the sockets are then of no further use.
 */
#ifndef EGRESS_PUMP_H
#define EGRESS_PUMP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct egress_pipes {
	int (*idle)[2]; /* owned */
	size_t idle_count;
	size_t used;
	size_t max; /* idle and used together */
};
void egress_pipes_init(struct egress_pipes *pipes, size_t max);
void egress_pipes_clear(struct egress_pipes *pipes);

struct egress_pump {
	char *data; /* owned; the backlog, NULL when empty */
	uint32_t off, len; /* of it, still to be written */
	uint32_t in_pipe;
	int pipe[2]; /* -1 unless in_pipe */
	bool eof; /* nothing more will be read */
	bool shut; /* and the reader has been told */
	bool last; /* both sockets are closed next: telling the reader is close(2)'s work */
	uint64_t moved; /* written to the other side */
	uint64_t room; /* what may still be read; UINT64_MAX: as much as there is */
};

struct egress_pump_shared {
	struct egress_pipes pipes;
	uint64_t splice_after;
	char scratch[]; /* EGRESS_COPY_BYTES */
};
struct egress_pump_shared *egress_pump_shared_new(uint64_t splice_after, size_t pipes);
void egress_pump_shared_free(struct egress_pump_shared *shared);

void egress_pump_init(struct egress_pump *pump);
/* Drops what is still to be written; moved stays. */
void egress_pump_clear(struct egress_pump *pump, struct egress_pump_shared *shared);
/* Puts bytes in front of what will be read; the backlog must be empty or append to it is meant. */
void egress_pump_push(struct egress_pump *pump, const void *data, size_t len);
/* Whether there is something to write before anything may be read. */
static inline bool
egress_pump_behind(const struct egress_pump *pump)
{
	return pump->len > 0 || pump->in_pipe > 0;
}
/* Writes the backlog. 0: all of it, 1: the reader is behind, else a negative errno. */
int egress_pump_flush(struct egress_pump *pump, struct egress_pump_shared *shared, int to);
/* Flushes, then reads and writes a few times, so that one flow cannot starve the others. */
int egress_pump_run(struct egress_pump *pump, struct egress_pump_shared *shared, int from, int to);
/* Declares the end of what will be read and passes it on as soon as possible. */
int egress_pump_finish(struct egress_pump *pump, struct egress_pump_shared *shared, int to);
#endif
