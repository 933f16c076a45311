//go:build !no_nats

package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/natssink"
)

// NATS opens the servers that s names. Errors about them name the setting.
func NATS(s settings.NATSSink, unacked int, logger *slog.Logger) (*natssink.Sink, error) {
	urls, options, err := natsServers(s)
	if err != nil {
		return nil, err
	}
	return natssink.New(urls, natssink.Config{MaxUnacked: unacked, Logger: logger, Options: options})
}

func natsServers(s settings.NATSSink) (servers string, options []nats.Option, err error) {
	urls := make([]string, len(s.URLs))
	for i, t := range s.URLs {
		u, err := url.Parse(t.Value)
		if err != nil || u.Hostname() == "" || strings.Contains(t.Value, ",") || !slices.Contains([]string{"nats", "tls"}, u.Scheme) {
			// The error can contain the password.
			return "", nil, outbox.ConfigError(fmt.Sprintf("urls[%d]", i), "given", "must be nats://HOST:PORT or tls://HOST:PORT")
		}
		urls[i] = t.Value
	}
	if len(urls) == 0 {
		return "", nil, outbox.ConfigError("urls", "[]", "must name a server")
	}
	options = []nats.Option{nats.Name("leat")}
	if s.CredentialsFile.Set() {
		if _, err := os.Stat(s.CredentialsFile.Value); err != nil {
			return "", nil, outbox.ConfigError("credentials_file", s.CredentialsFile.Value, err.Error())
		}
		options = append(options, nats.UserCredentials(s.CredentialsFile.Value))
	}
	if files := (certificates{"", s.CAFile, s.CertFile, s.KeyFile}); files.set() {
		config, err := files.config()
		if err != nil {
			return "", nil, err
		}
		options = append(options, nats.Secure(config))
	}
	return strings.Join(urls, ","), options, nil
}

// ReadNATS returns a reader of the stream that has the subject.
func ReadNATS(s settings.NATSSink, subject string) (read Readback, look func(ctx context.Context) (broken, care []string, err error), end func(), err error) {
	servers, options, err := natsServers(s)
	if err != nil {
		return nil, nil, nil, err
	}
	conn, err := nats.Connect(servers, append(options, nats.RetryOnFailedConnect(true))...)
	if err != nil {
		return nil, nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, nil, nil, err
	}
	stream := func(ctx context.Context) (jetstream.Stream, error) {
		name, err := js.StreamNameBySubject(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("leat: look for the stream of %s: %w", subject, err)
		}
		return js.Stream(ctx, name)
	}
	next, payloads := uint64(0), [][]byte(nil)
	return func(ctx context.Context) ([][]byte, error) {
			in, err := stream(ctx)
			if err != nil {
				return nil, err
			}
			if next == 0 {
				next = in.CachedInfo().State.LastSeq + 1
				return nil, nil
			}
			for {
				m, err := in.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subject))
				if errors.Is(err, jetstream.ErrMsgNotFound) {
					return payloads, nil
				}
				if err != nil {
					return nil, err
				}
				payloads, next = append(payloads, m.Data), m.Sequence+1
			}
		}, func(ctx context.Context) (broken, care []string, err error) {
			in, err := stream(ctx)
			if err != nil {
				return nil, nil, err
			}
			broken, care = judgeStream(in.CachedInfo().Config)
			return broken, care, nil
		}, conn.Close, nil
}

// judgeStream reports settings of a stream that lose acknowledged messages.
func judgeStream(c jetstream.StreamConfig) (broken, care []string) {
	if c.Storage == jetstream.MemoryStorage {
		broken = append(broken, "stream "+c.Name+" is in memory: what was acknowledged is lost when its servers stop")
	}
	if c.NoAck {
		broken = append(broken, "stream "+c.Name+" acknowledges nothing (no_ack)")
	}
	if c.Replicas < 3 {
		care = append(care, fmt.Sprintf("stream %s has %d replicas: what was acknowledged can be lost with one server", c.Name, c.Replicas))
	}
	if bounded := c.MaxMsgs > 0 || c.MaxBytes > 0 || c.MaxMsgsPerSubject > 0; bounded && c.Discard == jetstream.DiscardOld {
		care = append(care, "stream "+c.Name+" drops its oldest messages when it is full, whether or not they were read: set discard to new, and relays wait")
	}
	return broken, care
}
