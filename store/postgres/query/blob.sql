-- Blobs.

-- name: reseal
select ns.reseal($1::text::jsonb);

-- name: chunk_put takes key, number and data; returns whether it stands as it was given.
select ns.put_chunk($1, $2, $3);

-- name: chunk_get takes key and number; returns the chunk.
select data from ns.chunk where key = $1 and number = $2;

-- name: blob_delete takes a key; returns whether chunks are left.
select ns.delete_blob($1);

-- name: blob_page takes a key and a count; returns so many blobs after that key, and their age.
select key, ns.clock() - at from ns.blob where key > $1 order by key limit $2;
