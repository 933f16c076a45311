//go:build no_nats

package sink

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox/driver"
)

var errNoNATS = errors.New("this leat was built without NATS, with -tags no_nats")

// NATS fails, since this build has no NATS client.
func NATS(settings.NATSSink, int, *slog.Logger) (interface {
	driver.Sink
	io.Closer
}, error,
) {
	return nil, errNoNATS
}

// ReadNATS fails for the same reason.
func ReadNATS(settings.NATSSink, string) (Readback, func(ctx context.Context) (broken, care []string, err error), func(), error) {
	return nil, nil, nil, errNoNATS
}
