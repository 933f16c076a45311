package outbox

import (
	"cmp"
	"context"
	"maps"

	"github.com/leat-go/leat/internal/ids"
)

// Preparer completes and checks messages before an adapter touches the
// database, so that every adapter refuses the same messages with the same
// words. It is safe for concurrent use.
type Preparer struct {
	// MaxPayloadBytes bounds Message.Payload.
	// Defaults to DefaultMaxPayloadBytes.
	MaxPayloadBytes int
	// Injector adds trace headers. It does not replace a traceparent that the
	// caller has set. Defaults to none.
	Injector Injector
}

// Prepare returns msgs with their ids and trace headers filled in; msgs and
// their maps are not changed. It returns an *InvalidMessageError for the first
// message that could not be stored and sent as it is.
func (p Preparer) Prepare(ctx context.Context, msgs []Message) ([]Message, error) {
	limit := p.MaxPayloadBytes
	limit = cmp.Or(limit, DefaultMaxPayloadBytes)
	out := make([]Message, len(msgs))
	copy(out, msgs)
	for i := range out {
		m := &out[i]
		if err := p.fill(ctx, m); err != nil {
			return nil, err
		}
		if err := check(m, limit); err != nil {
			err.Index = i
			return nil, err
		}
	}
	return out, nil
}

func (p Preparer) fill(ctx context.Context, m *Message) error {
	if m.ID == "" {
		id, err := ids.New()
		if err != nil {
			return err
		}
		m.ID = id
	}
	if p.Injector == nil {
		return nil
	}
	if _, set := m.Headers["traceparent"]; set {
		return nil
	}
	headers := make(map[string]string, len(m.Headers)+2)
	maps.Copy(headers, m.Headers)
	p.Injector.Inject(ctx, headers)
	m.Headers = headers
	return nil
}
