// Package redis keeps tasks in Redis or Valkey, version 7.0 or later: one server, or a primary that Sentinel watches over.
//
// Each operation is one function in Lua, which the server runs alone: script/<operation>.lua, and what they share in
// script/lib_*.lua. A function reads the records it needs, decides as store/memory does, and writes what has changed; it checks
// before it writes, and in a gathered call each item is a step of its own. The clock is the server's TIME. All functions are one
// library (FUNCTION LOAD), which a server that does not have it is given; its name is made of its text, so that programs of
// several versions can share a server. FUNCTION LIST shows which there are; what an old version left behind may be deleted.
// (The same as scripts by EVALSHA was measured: defining what they share took each call 70–100 µs of the server's time.)
//
// All keys begin with outlast:{namespace}: and keys.go names every one of them. The braces are a hash tag: all that one step
// touches lies on one node of a cluster. (A cluster is refused for now.) Payloads are bytes and go through no JSON; times are
// microseconds. No key has a time to live, nothing scans, and nothing costs what is stored: whatever waits stands in a sorted
// set by what it waits for, and lanes stand by rank, with those that a claim has met shut put aside until what shut them changes.
// Work is done in chunks, for the server does nothing else meanwhile: more than 500 tasks or 8 MiB in one Submit, or 250 outcomes
// in one Complete, go in several steps, and a Claim stops at 8 MiB of payload.
//
// # Evidence
//
// A handle on which workers join keeps one connection for itself. Its CLIENT ID and the run id of the server's process stand in
// the records of its workers: a connection that the server no longer lists is a session that is gone. Recover runs on that same
// connection and asks for the list there (CLIENT LIST ID); the function then counts it only for the session that the record still
// names. After a restart or a failover the run id is another one, and what was seen before shows nothing. The connection also
// listens to notices, so a server that cuts idle clients (timeout) leaves it alone; it is looked at every second, and opened again
// when it is lost. A user who may not list connections has no evidence: Open says so, and silence alone decides.
//
// # Notices
//
// They are published on channels of the namespace. Work is told of when a lane has become one that can be claimed from, not with
// every task in it; changes of a task are told only while somebody follows one.
//
// # What survives
//
// The end of any process of yours loses nothing. For the server it depends on appendfsync, and Info says it in plain words:
//
//	always    the server killed, the machine without power: nothing that was accepted is lost
//	everysec  the server killed: nothing. The machine without power: up to two seconds of accepted work may be lost
//	no        the server killed: nothing. The machine without power: what the system had not written, often 30 seconds
//	no file   refused, unless the URL says lossy=1: all since the last snapshot is lost with the server
//
// A failover to a replica loses what the replica had not received, whatever appendfsync says; min-replicas-to-write bounds that.
// A step is in the file, and on a replica, as a whole or not at all: a store that went back in time is sound. A claim that was
// forgotten is refused by its nonce, though its epoch may be given out again.
//
// A server that may evict is refused. One that is full refuses Submit, Send, Tick and PutSchedule with ErrFull and nothing of it
// written; all that brings accepted work to its end goes on.
//
// # What it leaves to others
//
// A server that stops answering holds every call until its context ends. An Export reads up to
// 20,000 tasks as of one moment, and a larger store in pieces of that size, each of a moment of its own. A List by what no index
// serves (labels, a kind, a queue, held, done, cancelled) looks at the state, kind and queue of every task, piece by piece, and so does one of
// more than 5,000 tasks that are ready, running, scheduled, parked or failed; fewer are found where they stand. Of more than 64 lanes that wait for one limit it
// is chance which come first when it opens. Blobs are kept in the server's memory: large ones belong elsewhere. A user's transaction cannot be joined: Stage is a step of its own.
//
// # Why this client
//
// Measured with EVALSHA of 500 bytes on one machine, in turns: go-redis v9.23 17,000–25,000 calls a second from one goroutine and
// 30,000–39,000 from 64; rueidis 1.0.79 30,000–36,000 and 57,000–69,000, as it gathers what many goroutines send. It also
// listens and calls on one connection (RESP3), which is what a session needs.
package redis
