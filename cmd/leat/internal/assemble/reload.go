package assemble

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/outbox"
)

// kafkaInUse are the credentials of the sink of a relay. The relay is identified by the names of its outbox
// and group, since its place in the file can change.
type kafkaInUse struct {
	*sink.Credentials

	outbox, group string
}

// certificate is the certificate of the probes' listener.
type certificate struct {
	now atomic.Pointer[tls.Certificate]
}

// certificate serves the probes over HTTPS if h is configured for it.
func (b *builder) certificate(h *settings.HTTP) {
	if !h.CertFile.Set() && !h.KeyFile.Set() {
		return
	}
	pair, err := loadCertificate(h)
	if err != nil {
		b.refused(h.At, h, err)
		return
	}
	c := &certificate{}
	c.now.Store(pair)
	b.made.server = c
	b.made.Config.TLS = &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
}

func loadCertificate(h *settings.HTTP) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(h.CertFile.Value, h.KeyFile.Value)
	if err != nil {
		return nil, outbox.ConfigError("cert_file", h.CertFile.Value+", "+h.KeyFile.Value, err.Error())
	}
	return &pair, nil
}

// Reload replaces certificates, passwords and sign-ins with those of in, all or none. All other settings of
// in wait for the next start.
func (a *Assembly) Reload(in Input) error {
	var replace []func()
	if a.server != nil {
		if h := in.Daemon.HTTP; h != nil {
			pair, err := loadCertificate(h)
			if err != nil {
				return fmt.Errorf("http: %w", err)
			}
			replace = append(replace, func() { a.server.now.Store(pair) })
		}
	}
	if h := in.Daemon.HTTP; a.signIn != nil && h != nil && h.Dashboard != nil {
		method, err := signInOf(h.Dashboard, a.Config.Listen, in.Actor) // it still listens at the same address
		if err != nil {
			return fmt.Errorf("http.dashboard: %w", err)
		}
		replace = append(replace, func() { a.signIn.now.Store(&method) })
	}
	for _, used := range a.kafka {
		k := find(in.Daemon, used.outbox, used.group)
		if k == nil {
			return fmt.Errorf("outbox %s, group %s: %w", used.outbox, used.group, errGone)
		}
		next, err := used.Prepare(withConnection(k, in.Settings).Kafka)
		if err != nil {
			return fmt.Errorf("%s: %w", k.At.Path, err)
		}
		replace = append(replace, next)
	}
	for _, r := range replace {
		r()
	}
	return nil
}

// errGone is returned if the file lacks a sink that is running.
var errGone = fmt.Errorf("%w: no such relay to kafka any more: a restart is needed", outbox.ErrInvalidConfig)

// find returns the sink of the relay of a group of an outbox.
func find(d settings.Daemon, outbox, group string) *settings.KafkaSink {
	for _, o := range d.Outboxes {
		for _, r := range o.Relays {
			if o.Name.Value == outbox && groupOf(&r) == group && r.Sink != nil {
				return r.Sink.Kafka
			}
		}
	}
	return nil
}
