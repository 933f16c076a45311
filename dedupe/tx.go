package dedupe

import (
	"context"
	"errors"
)

// ErrNotCommitted is wrapped by the error of a TxUnit.Commit that has certainly
// not taken effect.
var ErrNotCommitted = errors.New("leat: not committed")

// TxStore keeps results in the database that handlers write to. It tries once
// and returns its error. Implementations are safe for concurrent use.
type TxStore interface {
	// Claim opens a transaction that alone may process id, 1 to 1,024
	// bytes. It does not wait for another one that does: that is Busy, with
	// Remaining where it is known. Done has the result, Mismatch
	// means that the fingerprint was another.
	//
	// The unit is not nil exactly if the Status is Claimed and the error is
	// nil. Otherwise no transaction is open and no connection is held.
	Claim(ctx context.Context, id, fingerprint string) (TxUnit, Claim, error)
}

// TxUnit is an open transaction that processes one id. One goroutine uses
// it at a time.
type TxUnit interface {
	// Context returns a child of ctx that carries the transaction.
	Context(ctx context.Context) context.Context

	// Commit stores result in the transaction and ends it. An error means that it
	// may have taken effect or not, save one that wraps ErrNotCommitted.
	Commit(ctx context.Context, result []byte) error

	// Rollback ends the transaction, whatever it returns.
	Rollback(ctx context.Context) error
}
