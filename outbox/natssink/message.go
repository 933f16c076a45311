package natssink

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/leat-go/leat/outbox"
)

var (
	errSubject = errors.New("must be the name of a subject: parts that are not empty, with dots between, without blanks, * and >")
	errSystem  = errors.New("must not be one of the server's own subjects, which begin with $, _INBOX, _R_ or _GR_")
	errHeader  = errors.New("NATS cannot carry this header")
	errCommand = errors.New("this header commands the server or its clients")
)

// messageOf returns the message of r.
func messageOf(r *outbox.Record) (*nats.Msg, error) {
	if err := checkSubject(r.Topic); err != nil {
		return nil, err
	}
	m := nats.NewMsg(r.Topic)
	m.Data = r.Payload
	for name := range r.Headers {
		if commands(name, r.Payload) {
			return nil, fmt.Errorf("%w: %.100q", errCommand, name)
		}
	}
	for name, value := range outbox.ToWatermill(r).Metadata {
		m.Header[name] = []string{value}
	}
	m.Header[outbox.HeaderWatermillUUID], m.Header[nats.MsgIdHdr] = []string{r.ID}, []string{identity(r)}
	for name, values := range m.Header {
		if !validName(name) || !validValue(values[0]) {
			return nil, fmt.Errorf("%w: %.100q with the value %.100q", errHeader, name, values[0])
		}
	}
	return m, nil
}

// identity is what a stream compares to drop repeats. A duplicate's acknowledgement acknowledges
// r only if no other record has the same identity. The id is not enough: another record may have
// the same id, on this or another subject of the stream, and a replay must arrive although the
// stream has the record.
func identity(r *outbox.Record) string {
	replay := cmp.Or(r.Replay, "-")
	return fmt.Sprintf("%s %d %d %s %s", r.Topic, r.Seq, r.CreatedAt.UnixMicro(), replay, r.ID)
}

// commands reports whether a producer's header would have an effect: Nats-Rollup purges a stream,
// for example, and clients take a message without a payload for a server message because of its
// Status. The sink always sets Nats-Msg-Id itself.
func commands(name string, payload []byte) bool {
	const prefix = "Nats-"
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) && name != nats.MsgIdHdr ||
		name == "Status" && len(payload) == 0
}

// system are prefixes of the subjects of the server and its clients. A record on
// $JS.API.STREAM.DELETE.x would delete x.
var system = [...]string{"$", "_INBOX", "_R_", "_GR_"} //nolint:gochecknoglobals // constants

func checkSubject(topic string) error {
	for _, beginning := range system {
		if strings.HasPrefix(topic, beginning) {
			return fmt.Errorf("topic %.100q %w", topic, errSystem)
		}
	}
	for part := range strings.SplitSeq(topic, ".") {
		if part == "" || strings.ContainsAny(part, "*> \t\r\n\f") {
			return fmt.Errorf("topic %.100q %w", topic, errSubject)
		}
	}
	return nil
}

// validName reports whether a header name arrives unchanged: the client silently leaves out
// others.
func validName(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// validValue reports whether a header value arrives unchanged: the client changes line breaks,
// and spaces at the ends.
func validValue(value string) bool {
	return !strings.ContainsAny(value, "\r\n") && strings.TrimSpace(value) == value
}
