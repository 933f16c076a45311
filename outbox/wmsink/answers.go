package wmsink

import (
	"slices"
	"strings"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

// kindOfText returns the kind of an error of a Watermill publisher that only differs in its text.
// It compares texts, so that it need not import any broker's client.
func kindOfText(text string) outbox.FailureKind {
	switch {
	case saysAny(text, outages()):
		return outbox.FailureOutage
	case saysAny(text, permanents()):
		return outbox.FailurePermanent
	default:
		return kindOfStatus(text)
	}
}

// outages are the texts of publishers' errors if the broker is unavailable or does not answer;
// without them an outage would look like a failure of each record and park it (invariant O8).
func outages() []string {
	return []string{
		"not connected to AMQP", "pub/sub is connection closed", "cannot open channel", "delivery not confirmed for message", // watermill-amqp
		"nats: timeout", "nats: connection closed", "nats: no servers available", "nats: no responders available",
		"nats: no response from stream", "nats: connection disconnected", "nats: Permissions Violation", "nats: Authorization Violation", // watermill-nats
		"redis: client is closed", "redis: connection pool", // watermill-redisstream, and the server's answers:
		": OOM ", ": LOADING ", ": READONLY ", ": MASTERDOWN ", ": CLUSTERDOWN ", ": NOREPLICAS ", ": MISCONF ", ": TRYAGAIN ", ": NOAUTH ",
		": WRONGPASS ", ": NOPERM ",
		"publisher closed", "publisher is closed", // all publishers
	}
}

// permanents are the texts of publishers' errors if a message can never be sent.
func permanents() []string {
	return []string{"nats: maximum payload exceeded", "nats: invalid subject"}
}

// kindOfStatus returns the kind of the error of watermill-http for an answer with a status other
// than success: "503 Service Unavailable: server responded with error status".
func kindOfStatus(text string) outbox.FailureKind {
	status, _, ok := strings.Cut(text, ": server responded with error status")
	if !ok || len(status) < 3 {
		return outbox.FailureUnknown
	}
	switch code := status[:3]; {
	case code[0] == '5', slices.Contains([]string{"401", "403", "407", "408", "425", "429"}, code):
		return outbox.FailureOutage
	case slices.Contains([]string{"400", "413", "414", "415", "422", "431"}, code):
		return outbox.FailurePermanent
	default:
		return outbox.FailureUnknown
	}
}

// kindOfSQL returns the kind of an error of watermill-sql whose driver has a SQLSTATE, as those
// of pgx and lib/pq have: an outage if it concerns the connection, the login, the resources or
// the schema of the server.
func kindOfSQL(err error) (kind outbox.FailureKind, ok bool) {
	switch pgerr.Class(err) {
	case "":
		return outbox.FailureUnknown, false
	case pgerr.ConnectionException, pgerr.InvalidAuthorization, pgerr.InvalidCatalog,
		pgerr.InsufficientResources, pgerr.OperatorIntervention, pgerr.SystemError:
		return outbox.FailureOutage, true
	}
	if pgerr.Is(err, pgerr.ReadOnlyTransaction, pgerr.InsufficientPrivilege, pgerr.UndefinedTable) {
		return outbox.FailureOutage, true
	}
	return outbox.FailureUnknown, true
}

// saysAny reports whether text contains one of parts.
func saysAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
