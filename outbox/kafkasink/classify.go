package kafkasink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// classify returns what err means for the records behind it. FailurePermanent is
// about the record only if it was alone in its batch.
func classify(err error) outbox.FailureKind {
	switch {
	case rejected(err):
		return outbox.FailurePermanent
	case outage(err):
		return outbox.FailureOutage
	default:
		return outbox.FailureUnknown
	}
}

// rejected reports whether the broker has refused the batch itself, or the topic's name.
func rejected(err error) bool {
	return isAny(err,
		kerr.MessageTooLarge,
		kerr.RecordListTooLarge,
		kerr.CorruptMessage,
		kerr.InvalidRecord,
		kerr.InvalidTopicException,
		kerr.UnsupportedForMessageFormat,
	)
}

func outage(err error) bool {
	if isAny(err,
		context.Canceled,
		context.DeadlineExceeded,
		kgo.ErrClientClosed,
		kgo.ErrRecordTimeout,
		outbox.ErrClosed,
		errSignIn,
		io.EOF,
		io.ErrUnexpectedEOF,
		net.ErrClosed,
	) {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return isTLS(err) || isBroker(err)
}

func isTLS(err error) bool {
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, verify := errors.AsType[*tls.CertificateVerificationError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return header || verify || authority || alert
}

// isBroker reports whether a broker has answered that it, its cluster or the topic cannot serve
// us now, or has forgotten our producer id: the next client has another one.
func isBroker(err error) bool {
	return isAny(err,
		kerr.BrokerNotAvailable,
		kerr.ClusterAuthorizationFailed,
		kerr.CoordinatorLoadInProgress,
		kerr.CoordinatorNotAvailable,
		kerr.FencedLeaderEpoch,
		kerr.IllegalSaslState,
		kerr.InvalidProducerEpoch,
		kerr.InvalidProducerIDMapping,
		kerr.InvalidTimestamp, // see page.refusedTime
		kerr.InvalidReplicationFactor,
		kerr.KafkaStorageError,
		kerr.LeaderNotAvailable,
		kerr.ListenerNotFound,
		kerr.NetworkException,
		kerr.NotEnoughReplicas,
		kerr.NotEnoughReplicasAfterAppend,
		kerr.NotLeaderForPartition,
		kerr.OutOfOrderSequenceNumber,
		kerr.PolicyViolation,
		kerr.ReplicaNotAvailable,
		kerr.RequestTimedOut,
		kerr.SaslAuthenticationFailed,
		kerr.SecurityDisabled,
		kerr.ThrottlingQuotaExceeded,
		kerr.TopicAuthorizationFailed,
		kerr.UnknownLeaderEpoch,
		kerr.UnknownProducerID,
		kerr.UnknownTopicID,
		kerr.UnknownTopicOrPartition,
		kerr.UnsupportedSaslMechanism,
	)
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
