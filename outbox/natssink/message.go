package natssink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/leat-go/leat/outbox"
)

var (
	errSubject = errors.New("must be the name of a subject: parts that are not empty, with dots between, without blanks, * and >")
	errHeader  = errors.New("NATS cannot carry this header")
)

// messageOf returns the message of r.
func messageOf(r *outbox.Record) (*nats.Msg, error) {
	if err := checkSubject(r.Topic); err != nil {
		return nil, err
	}
	m := nats.NewMsg(r.Topic)
	m.Data = r.Payload
	for name, value := range outbox.ToWatermill(r).Metadata {
		m.Header[name] = []string{value}
	}
	m.Header[outbox.HeaderWatermillUUID], m.Header[nats.MsgIdHdr] = []string{r.ID}, []string{r.ID}
	for name, values := range m.Header {
		if !validName(name) || !validValue(values[0]) {
			return nil, fmt.Errorf("%w: %.100q with the value %.100q", errHeader, name, values[0])
		}
	}
	return m, nil
}

func checkSubject(topic string) error {
	for part := range strings.SplitSeq(topic, ".") {
		if part == "" || strings.ContainsAny(part, "*> \t\r\n\f") {
			return fmt.Errorf("topic %.100q %w", topic, errSubject)
		}
	}
	return nil
}

// validName reports whether a name arrives as it is: the client leaves out others, in silence.
func validName(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// validValue reports whether a value arrives as it is: the client changes line breaks, and blanks at the ends.
func validValue(value string) bool {
	return !strings.ContainsAny(value, "\r\n") && strings.TrimSpace(value) == value
}
