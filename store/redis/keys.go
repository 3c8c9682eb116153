package redis

import "strings"

// All keys of a namespace begin with outlast:{namespace}: — the braces are the hash tag, so that on a cluster all that one step
// touches lies on one node. The scripts make every other key from that prefix. <id> is the 16 raw bytes of an id, \0 a zero
// byte; lex is a sorted set whose members all have the score 0 and sort by their bytes. None of the keys has a time to live.
//
//	meta                      hash     schema: the version of the records; id: made by chance with the namespace
//	state                     hash     pulse (since, last), gates (passed, passedby, suspects), a counter (ripe)
//	t:<id>                    string   a task: what changes (msgpack)
//	c:<id>                    string   a task: what was submitted, args and all
//	r:<id>                    string   its result
//	e:<id>                    hash     its checkpoint, by name
//	i:<id>                    hash     its inbox, by message id; empty: consumed
//	all, failed               lex      ids of all tasks, of those that failed
//	kids:<id>                 lex      ids of the tasks whose parent this is
//	keyed:<kind>\0<key>       lex      ids of the tasks that have, or had, this unique key
//	u:<kind>\0<key>           string   who holds the unique key, and until when
//	due, startby, expiry      zset     ids by the time at which something is to be done
//	overdue                   zset     ids of what runs by the end of its time
//	idle                      lex      ids of what is parked without a time
//	held:<worker>             lex      ids of what a worker runs
//	asks:<worker>             lex      ids of those of them that were asked to end
//	holders                   set      workers that hold something, or did
//	w:<worker>                string   a worker
//	workers, dead             lex      workers on record, those of them that are dead
//	alive, beats              zset     living workers by their dead-after, by their last beat
//	seen                      hash     when the session of a living worker was last seen
//	g:<id>, gc:<id>           string   a group: what changes, what was asked for
//	groups                    lex      ids of groups
//	members:<group>           lex      line and id of its members
//	stages:<group>            zset     ids of its members by what is to be done: 0 waits, 1 lives, 2 asked, 3 ended
//	keeps:<id>                set      groups that wait for the end of this task
//	ripe, bare                zset     groups that Promote tends, in turn; that Prune removes, by time
//	ready:<queue>\0<lane>     lex      the ready tasks of a lane: priority, due, id
//	lanes:<queue>             hash     lanes by name: head, rank and place
//	names:<queue>             lex      names of lanes
//	age:<queue>, aged:<queue> zset     lanes by the time their head became ready
//	levels:<queue>\0<kind>    zset     levels that have lanes, highest first
//	level:<queue>\0<kind>\0…  lex      lanes of a level, in turn
//	wait:<queue>\0<kind>      zset     lanes that a claim has met shut, by the time they open
//	suspects:<queue>\0<kind>  lex      lanes with suspects
//	shut:<limit>, paused      set      lanes that wait for a limit, for a pause to end
//	reopened                  set      limits that have opened and still have lanes in shut
//	clocks                    hash     when lanes that wait were last looked at, by queue and kind
//	lines                     hash     ordered lanes of which a task runs
//	line:<queue>\0<kind>\0…   lex      ids of all tasks of an ordered lane that have not ended
//	broken:<queue>\0<kind>\0… zset     ids of tasks that failed and fail the rest of their line, by the time they did
//	limit:<key>               string   a limit, its count and its rates
//	limits                    lex      limits that were set
//	pauses, pauseends         hash,    pauses by scope, and by their end
//	                          zset
//	weights                   hash     weights by queue and lane
//	schedule:<name>           string   a schedule
//	schedules, ticks          lex,     schedules by name, by their next time
//	                          zset
//	blob:<key>                hash     a blob: its chunks by number
//	blobs, blobat             lex,     blobs by key, and when their last chunk was put
//	                          hash
//	queues                    hash     counts by queue and state
//	stat:<minute>, minutes    hash,    statistics of a minute, and which there are
//	                          zset
//
// Notices go to the channels notice:all, notice:work:<queue>, notice:asked:<worker> and notice:task:<id>; the last only while
// somebody listens to notice:follow.
const (
	keyMeta     = "meta"
	keyWorker   = "w:"
	keyTask     = "t:"
	keyBlob     = "blob:"
	chanAll     = "notice:all"
	chanWork    = "notice:work:"
	chanAsked   = "notice:asked:"
	chanTask    = "notice:task:"
	chanFollow  = "notice:follow"
	indexAll    = "all"
	indexFailed = "failed"
	indexKids   = "kids:"
	indexKeyed  = "keyed:"
	indexHeld   = "held:"
	indexMember = "members:"
)

// prefixOf is what all keys of a namespace begin with.
func prefixOf(namespace string) string { return "outlast:{" + namespace + "}:" }

// split takes a name apart that a script has put together with zero bytes.
func split(name string) []string { return strings.Split(name, "\x00") }
