-- Blobs: large payloads in chunks, each written once. What is stored is listed without a look at the chunks.

create table blob (
	key text primary key,
	at  integer not null -- when its last chunk was put
) without rowid;

create table chunk (
	key    text    not null,
	number integer not null,
	data   blob    not null,
	unique (key, number)
);

-- What tells this namespace from all others, of whatever name.
insert into meta (name, value) values ('id', lower(hex(randomblob(16))));

pragma user_version = 2;
