-- Messages of a task. One that was consumed stays as its id, so that it comes once.

-- name: message_seen takes task and id; returns whether it has come before.
select exists (select 1 from message where task = ?1 and id = ?2);

-- name: message_insert takes task, id, name, body and when it was sent; it comes last.
insert into message (task, id, name, body, sent, pos)
values (?1, ?2, ?3, ?4, ?5, (select coalesce(max(pos), 0) + 1 from message where task = ?1));

-- name: message_consume takes task and id.
update message set body = null, pos = null where task = ?1 and id = ?2;

-- name: message_there takes task and id; returns whether it is there and was not consumed.
select exists (select 1 from message where task = ?1 and id = ?2 and pos is not null);

-- name: message_reseal takes task, id and body of one that was not consumed.
update message set body = ?3 where task = ?1 and id = ?2 and pos is not null;

-- name: message_drop takes a task that ends; forgets what was not consumed.
delete from message where task = ?1 and pos is not null;

-- name: message_delete_all takes a task that is stripped or removed.
delete from message where task = ?1;

-- name: message_list takes a task; returns what was not consumed, in the order of coming.
select id, name, body, sent from message where task = ?1 and pos is not null order by pos;
