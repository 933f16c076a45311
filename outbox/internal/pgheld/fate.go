package pgheld

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox/driver"
)

// failure is one failed delivery, as it is stored.
type failure struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"`
	Error string    `json:"error"`
	Epoch int64     `json:"epoch"`
}

// maxErrors is how many errors of a record are kept; the statements contain it as well.
const maxErrors = 100

// maxErrorBytes bounds the text of one error. A broker's message may contain anything, and a
// record whose error cannot be stored could never be set aside.
const maxErrorBytes = 2000

// fates are the fates of records, as parameters of a statement.
type fates struct {
	epoch    int64
	names    []string
	attempts []int32
	errors   []string
	retryIn  []int64
	reasons  []*string
}

func (f *fates) add(fate driver.Fate, attempts []driver.Attempt, retryIn time.Duration, reason string) error {
	newest := attempts[max(0, len(attempts)-maxErrors):]
	all := make([]failure, len(newest))
	for i, a := range newest {
		all[i] = failure{At: a.At.UTC(), Kind: a.Kind.String(), Error: storable.AtMost(a.Error, maxErrorBytes), Epoch: f.epoch}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("leat: errors of a held record: %w", err)
	}
	f.names = append(f.names, fate.String())
	f.attempts = append(f.attempts, int32(len(attempts))) //nolint:gosec // as many as a policy allows
	f.errors = append(f.errors, string(raw))
	f.retryIn = append(f.retryIn, retryIn.Microseconds())
	f.reasons = append(f.reasons, orNull(storable.AtMost(reason, maxErrorBytes)))
	return nil
}
