package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// copyAge is the age of the copy when it is restored. It is shorter than a lease, so that the relay
// continues with a lease that the copy contains as well.
const copyAge = time.Second / 2

// putBackInPlace returns an act in which the bank's database goes back under running relays. Kafka
// does not answer during that time, so that the relays hold records that no longer exist
// afterwards.
func (in *injection) putBackInPlace(s *sqlStore) func(context.Context, *fault) error {
	return func(ctx context.Context, f *fault) error {
		from := time.Now()
		if err := s.copyBooks(ctx); err != nil {
			return err
		}
		wait.Full(ctx, copyAge)
		heal, err := s.relaysKafka.poison(ctx, "timeout", "downstream", map[string]int{"timeout": 0})
		if err != nil {
			return err
		}
		banks := in.processes.of(roles.Bank)
		holdAll(banks)
		defer releaseAll(banks)
		last, _ := s.counted(ctx)
		err = s.restoreBooks(ctx)
		until := time.Now()
		err = errors.Join(err, in.tally.log.Write(history.Line{Type: history.Rewound, At: from.UnixMicro(), Until: until.UnixMicro()}))
		releaseAll(banks)
		for end := time.Now().Add(roles.PublishTimeout / 2); time.Now().Before(end); wait.Full(ctx, 20*time.Millisecond) {
			if now, _ := s.counted(ctx); now > last { // the bank draws the same numbers again
				break
			}
		}
		heal()
		if err != nil {
			return err
		}
		f.consequence, err = in.repair(ctx, roles.Relay)
		return err
	}
}
