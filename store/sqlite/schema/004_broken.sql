-- A task that failed and fails the rest of its ordered lane. It is looked up by line and by the time of its failure.

create table broken (
	task blob primary key,
	line blob    not null,
	at   integer not null
) without rowid;

create index broken_line on broken (line, at);

pragma user_version = 4;
