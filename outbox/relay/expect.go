package relay

import (
	"cmp"
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// placed returns an error if a place is expected and the source cannot report its own.
func (c Config) placed(source driver.Source) error {
	if _, ok := source.(driver.Placed); !ok && c.Expect != (driver.Place{}) {
		return outbox.ConfigError("Expect", fmt.Sprintf("%+v", c.Expect), "cannot be compared: the source does not say where it is")
	}
	return nil
}

// expected refuses a source whose place differs from Config.Expect. It is called before each
// term, since the address may lead to another server by then.
func (r *Relay) expected(ctx context.Context) error {
	want := r.cfg.Expect
	source, ok := r.source.(driver.Placed)
	if !ok || want == (driver.Place{}) {
		return nil
	}
	is, err := source.Place(ctx)
	if err != nil {
		return err
	}
	err = cmp.Or(
		as("host", want.Host, is.Host), as("database", want.Database, is.Database), as("instance", want.Instance, is.Instance),
	)
	if err != nil {
		return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	return nil
}

func as(what, want, is string) error {
	if want == "" {
		return nil
	}
	return basis.Same(basis.ErrUnexpected, "the expected "+what, want, is)
}
