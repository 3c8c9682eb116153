// Package batch processes rows: thousands or millions of one operation, by all processes together, each row by itself, with a result per
// row, output files, and one closing hook. An operation is defined once, served by the processes that run it, and given rows from anywhere.
//
//	var Import = batch.Define("billing/import", batch.Processor[*sql.DB, Line, Receipt]{
//		Init: DB, // var DB = batch.Init(openDB): shared by the rows of the process
//		Row: func(ctx context.Context, db *sql.DB, row batch.Row[Line]) (batch.Result[Receipt], error) { … },
//		Done: func(ctx context.Context, db *sql.DB, sum batch.Summary) error { … },
//	}, batch.Config{})
//
//	Import.Serve(k)                                                    // this process runs it, once k.Run is called
//	h, err := Import.Submit(ctx, k, batch.CSV[Line](file, batch.CSVConfig{}), batch.Options{Key: "2026-11"})
//	status, err := h.Wait(ctx)                                         // counts, and how it ended
//	for row, err := range h.All(ctx, batch.Failed) { … }               // what became of each row
//
// ExampleDefine is a whole program.
//
// # What it promises
//
// When Submit has returned without an error every row of the batch ends, whatever dies, and then Done is called; no row runs before all of
// them are stored. A process that dies costs its rows no attempt: they go on elsewhere within seconds. An ending is written once, and never
// by a process that has lost the row meanwhile, or whose row was aborted. The counts are those of the rows' endings, always. The last
// row that ends closes the batch, in the same step: the closing task is there once, whoever finishes at the same moment.
//
// Effects outside the store may begin more than once, as a process can die between the effect and the word that it is done: hand
// Run.Key to receivers that tell repeats by a key. The same is true of Done.
//
// Batches take turns: a small one is not stuck behind a large one. Rows that no process serves wait, and Status says so.
//
// # How a batch ends
//
// Row returns a result, or an error. A result with Failed ends the row as failed, and is kept; an error is a failed attempt, tried again as
// Config.Retry says. A batch ends as aborted if it was aborted or a row was, else as failed if a row has failed, else as
// success. Output files have the lines of all rows that were processed, by line, and are written through the kernel's blobs as streams;
// without a place for blobs they are read from the rows.
//
// # What it leaves to others
//
// Slots, recovery, limits, sealing and blobs belong to the kernel. A batch is a group of tasks, a row a member of it, in the lane of its
// batch.
package batch
