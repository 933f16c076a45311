package pginbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// sendQueued sends the statements that the handlers of len(ends) messages have queued: those of
// message i end at ends[i]. The error names the message if it is known.
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
				_ = results.Close() // the same error, or a consequence of it
				if statement == 0 && !byServer(err) {
					return err
				}
				return about(i, len(ends), err)
			}
		}
	}
	return results.Close()
}

// receive reads the result of a statement, as BatchResults.Close does. If there is a callback, it
// handles the tag.
func receive(results pgx.BatchResults, statement *pgx.QueuedQuery) (pgconn.CommandTag, error) {
	if statement.Fn != nil {
		return pgconn.CommandTag{}, statement.Fn(results)
	}
	return results.Exec()
}

// forget removes the callbacks from a statement on, after an earlier one has failed.
func forget(queue *pgx.Batch, from int) {
	for _, statement := range queue.QueuedQueries[from:] {
		statement.Fn = nil
	}
}

// byServer reports whether err is the server's error for the statement whose result was read.
// Errors that occur before anything is sent are reported at the same place, whatever their
// statement.
func byServer(err error) bool {
	_, server := errors.AsType[*pgconn.PgError](err)
	_, before := errors.AsType[pgx.ErrPreprocessingBatch](err)
	return server && !before
}
