-- A beat tells its worker which of its tasks were asked to end. It finds them by an index, and does not read all that the worker holds.

alter table task add column asked integer; -- running, and asked to end since its claim

create index task_asked on task (worker, id) where asked is not null;

-- What was asked before is in the bodies, which SQL does not read: all that runs is looked at.
update task set asked = 1 where worker is not null;

pragma user_version = 3;
