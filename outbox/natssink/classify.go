package natssink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/leat-go/leat/outbox"
)

// Codes of JetStream's errors, from its server's errors.json.
const (
	codeClusterNotAvailable   = 10008
	codeInsufficientResources = 10023
	codeStreamTooLarge        = 10054
	codeNotEnabled            = 10076
	codeStoreFailed           = 10077
	codeNotEnabledForAccount  = 10039
	codeHeaderTooLarge        = 10097
	codeStreamSealed          = 10109
	codeStreamOffline         = 10118
)

// out adds the names of the servers to err, which concerns all subjects: not just that of the
// record that failed.
func out(hosts []string, err error) error {
	verb := "does not answer"
	if _, said := errors.AsType[*jetstream.APIError](err); said || errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrJetStreamNotEnabled) {
		verb = "refuses"
	}
	return fmt.Errorf("leat: nats at %v %s: %w", hosts, verb, err)
}

// hostsOf returns the addresses in URLs, without their secrets.
func hostsOf(urls string) (hosts []string) {
	for u := range strings.SplitSeq(urls, ",") {
		if _, rest, ok := strings.Cut(u, "://"); ok {
			u = rest
		}
		host, _, _ := strings.Cut(u[strings.LastIndex(u, "@")+1:], "/")
		hosts = append(hosts, strings.TrimSpace(host))
	}
	return hosts
}

// classify returns what a refusal is about: the record, its topic, or all of JetStream.
func classify(err error) (kind outbox.FailureKind, ofTopic bool) {
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
		return outbox.FailureOutage, true // no stream has the subject
	}
	if errors.Is(err, jetstream.ErrInvalidJSAck) {
		return outbox.FailureOutage, true // not from JetStream: another subscriber of the subject has answered
	}
	refused, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return outbox.FailureOutage, false
	}
	if refused.ErrorCode == 0 {
		return outbox.FailureOutage, true // also not from JetStream, whose errors have a number
	}
	switch refused.ErrorCode {
	case codeStreamTooLarge, codeHeaderTooLarge:
		return outbox.FailurePermanent, false
	case codeStoreFailed, codeStreamSealed, codeStreamOffline: // it is full, or accepts no more
		return outbox.FailureOutage, true
	case codeClusterNotAvailable, codeInsufficientResources, codeNotEnabled, codeNotEnabledForAccount:
		return outbox.FailureOutage, false
	default:
		return outbox.FailureUnknown, false
	}
}
