-- Blobs and their chunks.

-- name: chunk_get takes key and number; returns the chunk.
select data from chunk where key = ?1 and number = ?2;

-- name: chunk_insert takes key, number and data of a chunk that is not there.
insert into chunk (key, number, data) values (?1, ?2, ?3);

-- name: chunk_delete takes a key and a count; removes so many of its last chunks.
delete from chunk where rowid in (select rowid from chunk where key = ?1 order by number desc limit ?2);

-- name: chunk_left takes a key; returns whether it has chunks.
select exists (select 1 from chunk where key = ?1);

-- name: blob_put takes a key and when its last chunk was put.
insert or replace into blob (key, at) values (?1, ?2);

-- name: blob_delete takes the key of a blob without chunks.
delete from blob where key = ?1;

-- name: blob_page takes a key and a count; returns so many blobs after that key.
select key, at from blob where key > ?1 order by key limit ?2;
