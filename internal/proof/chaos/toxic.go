package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// toxic is a proxy in front of Kafka or Redis that can be made to behave badly.
type toxic struct {
	proxy *toxiproxy.Proxy
	at    string // the address on which it listens, also after resets
}

// openToxic listens on a free port.
func openToxic(name, upstream string) (*toxic, error) {
	logger := zerolog.Nop()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), logger)
	proxy := toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)
	if err := proxy.Start(); err != nil {
		return nil, fmt.Errorf("open the proxy %s: %w", name, err)
	}
	return &toxic{proxy: proxy, at: proxy.Listen}, nil
}

// address returns where the proxy listens.
func (t *toxic) address() string { return t.at }

// poison makes the proxy misbehave until the returned function is called. Kinds are those of
// toxiproxy.
func (t *toxic) poison(ctx context.Context, kind, stream string, attributes map[string]int) (heal func(), err error) {
	raw, err := json.Marshal(map[string]any{"name": kind, "type": kind, "stream": stream, "attributes": attributes})
	if err != nil {
		return nil, fmt.Errorf("encode the toxic %s: %w", kind, err)
	}
	if _, err := t.proxy.Toxics.AddToxicJson(strings.NewReader(string(raw))); err != nil {
		return nil, fmt.Errorf("add the toxic %s: %w", kind, err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = t.proxy.Toxics.RemoveToxic(ctx, kind) // it is already gone if all its connections are
	}, nil
}

// reset refuses and cuts all connections until the returned function is called.
func (t *toxic) reset() (heal func() error) {
	t.proxy.Stop()
	return func() error {
		if err := t.proxy.Start(); err != nil { // it listens at the same address as before
			return fmt.Errorf("open the proxy at %s again: %w", t.at, err)
		}
		return nil
	}
}

// close ends the proxy.
func (t *toxic) close() { t.proxy.Stop() }
