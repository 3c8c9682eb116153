-- Lanes: what a claim looks at before it looks at tasks. A count is a sum, as in task.sql.

-- name: lane_round takes queue, kind, two names and a count; returns so many lanes from the first name up to the second, without it.
select id, queue, kind, name, key, lim, ordered, suspect, ready, head, rank, turn, priority, since, charged
from lane where queue = ?1 and kind = ?2 and name >= ?3 and name < ?4 order by name limit ?5 + 0;

-- name: lane_suspect takes queue and kind; returns their lanes in which suspects wait, by name.
select id, queue, kind, name, key, lim, ordered, suspect, ready, head, rank, turn, priority, since, charged
from lane indexed by lane_suspect where queue = ?1 and kind = ?2 and suspect = 1 order by name;

-- name: lane_urgent takes queue and kind; returns the highest priority of their lanes, if it is above 0.
select priority from lane indexed by lane_urgent where queue = ?1 and kind = ?2 and priority > 0 order by priority desc limit 1;

-- name: lane_by_name takes queue, kind and name; returns the lane.
select id, queue, kind, name, key, lim, ordered, suspect, ready, head, rank, turn, priority, since, charged
from lane where queue = ?1 and kind = ?2 and name = ?3;

-- name: lane_by_id takes an id; returns the lane.
select id, queue, kind, name, key, lim, ordered, suspect, ready, head, rank, turn, priority, since, charged
from lane where id = ?1;

-- name: lane_page takes a queue, a name and a count; returns so many lanes after that name.
select id, queue, kind, name, key, lim, ordered, suspect, ready, head, rank, turn, priority, since, charged
from lane where queue = ?1 and name > ?2 order by name limit ?3 + 0;

-- name: lane_insert takes a lane with its first task.
insert into lane (queue, kind, name, key, lim, ordered, suspect, ready, head, rank, turn, priority, since, charged)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);

-- name: lane_update takes id, count and first task.
update lane set ready = ?2, head = ?3, rank = ?4, turn = ?5, priority = ?6, since = ?7, charged = ?8 where id = ?1;

-- name: lane_delete takes the id of a lane that is empty.
delete from lane where id = ?1;

-- name: pause_list returns all pauses.
select queue, kind, lane, reason, at, until from pause order by queue, kind, lane;

-- name: pause_put takes a pause; replaces one of the same scope.
insert or replace into pause (queue, kind, lane, reason, at, until) values (?1, ?2, ?3, ?4, ?5, ?6);

-- name: pause_delete takes a scope.
delete from pause where queue = ?1 and kind = ?2 and lane = ?3;

-- name: pause_expire takes now; forgets the pauses whose time is up.
delete from pause where until != 0 and until <= ?1;

-- name: weight_get takes queue and lane key; returns the weight of their lanes.
select weight from weight where queue = ?1 and lane = ?2;

-- name: weight_put takes queue, lane key and weight.
insert or replace into weight (queue, lane, weight) values (?1, ?2, ?3);
