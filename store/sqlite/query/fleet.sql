-- Workers, and the instants that the fleet shares.

-- name: worker_get takes an id; returns the worker.
select id, beat, dead_after, joined, beat_at, dead_at, death, held, evidence, inode, machine, boot, info, load, doubt
from worker where id = ?1;

-- name: worker_all returns all workers by id.
select id, beat, dead_after, joined, beat_at, dead_at, death, held, evidence, inode, machine, boot, info, load, doubt
from worker order by id;

-- name: worker_living returns all that were not declared dead.
select id, beat, dead_after, joined, beat_at, dead_at, death, held, evidence, inode, machine, boot, info, load, doubt
from worker where dead_at = 0 order by id;

-- name: worker_idle_dead returns the dead under whom nothing runs.
select id from worker w where dead_at != 0 and not exists (select 1 from task where worker = w.id) order by id;

-- name: worker_alive takes an id; returns whether it may beat and claim.
select exists (select 1 from worker where id = ?1 and dead_at = 0);

-- name: worker_shortest returns the shortest dead-after of the living, and how many they are.
select min(dead_after), count(*) from worker where dead_at = 0;

-- name: worker_insert takes id, beat, dead-after, now, evidence, inode, machine, boot, info and load.
insert into worker (id, beat, dead_after, joined, beat_at, dead_at, death, held, evidence, inode, machine, boot, info, load, doubt)
values (?1, ?2, ?3, ?4, ?4, 0, '', 0, ?5, ?6, ?7, ?8, ?9, ?10, 0);

-- name: worker_inode takes the id of a living one, and the inode of its new file.
update worker set inode = ?2 where id = ?1 and dead_at = 0;

-- name: worker_doubt takes the id of a living one, now, and the doubt about its file: while it stands, it has beaten now.
update worker set beat_at = ?2, doubt = ?3 where id = ?1 and dead_at = 0;

-- name: worker_die takes id, now, how, how many tasks it held, and its last beat and load; a worker dies once.
update worker set dead_at = ?2, death = ?3, held = ?4, beat_at = ?5, load = ?6 where id = ?1 and dead_at = 0;

-- name: worker_delete takes the id of a dead one.
delete from worker where id = ?1 and dead_at != 0;

-- name: meta_get takes a name; returns the value.
select value from meta where name = ?1;

-- name: meta_put takes name and value.
insert or replace into meta (name, value) values (?1, ?2);
