package pginbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sendQueued sends what the handlers of len(ends) messages have queued: the statements
// of message i end at ends[i]. The error names the message if that is
// known.
func sendQueued(ctx context.Context, tx pgx.Tx, queue *pgx.Batch, ends []int) error {
	if queue.Len() == 0 {
		return nil
	}
	results := tx.SendBatch(ctx, queue)
	statement := 0
	for i, end := range ends {
		for ; statement < end; statement++ {
			if _, err := receive(results, queue.QueuedQueries[statement]); err != nil {
				forget(queue, statement+1)
				_ = results.Close() // the same error, or one that follows from it
				if statement == 0 && !byServer(err) {
					return err
				}
				return about(i, len(ends), err)
			}
		}
	}
	return results.Close()
}

// receive reads the result of a statement, as BatchResults.Close does. Where
// there is a callback, the tag is its business.
func receive(results pgx.BatchResults, statement *pgx.QueuedQuery) (pgconn.CommandTag, error) {
	if statement.Fn != nil {
		return pgconn.CommandTag{}, statement.Fn(results)
	}
	return results.Exec()
}

// forget drops the callbacks from a statement on: one before it has failed.
func forget(queue *pgx.Batch, from int) {
	for _, statement := range queue.QueuedQueries[from:] {
		statement.Fn = nil
	}
}

// byServer reports whether err is the server's about the statement whose result was
// to be read. What goes wrong before anything is sent is reported there as well,
// whichever statement it is about.
func byServer(err error) bool {
	_, server := errors.AsType[*pgconn.PgError](err)
	_, before := errors.AsType[pgx.ErrPreprocessingBatch](err)
	return server && !before
}
