package chaos

import (
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// Points that are not failure points of the code.
const (
	pointKafka       = "server/kafka"
	pointRedis       = "server/redis"
	pointGroup       = "group/ledger"
	pointTransaction = "transaction/foreign"
	pointTail        = "tail/relay"
	pointRelaysKafka = "connection/relays-kafka"
	pointGroupsKafka = "connection/groups-kafka"
	pointRedisLine   = "connection/notifier-redis"
	pointRegistry    = "server/registry"
)

// Kinds of faults in addition to those of package roles.
const (
	kindKill         = "kill"
	kindTerminate    = "terminate"
	kindHold         = "half-open"
	kindBeforeCommit = "cut before commit"
	kindAfterCommit  = "cut after commit"
	kindCrash        = "crash"
	kindReset        = "reset"
	kindTimeout      = "no answer"
	kindLimit        = "cut inside an answer"
	kindHeld         = "held"
	kindPrepared     = "prepared"
	kindRefused      = "answers 500"
)

// deed is a fault that can be injected into a process.
type deed struct {
	point, kind string
	weight      int // how often it is chosen among the deeds of its point
}

// Weights: faults that take seconds to recover from are injected less often.
const (
	often  = 8
	seldom = 1
)

// deedsOf returns the deeds for processes of a role.
func deedsOf(role, store string) []deed {
	deeds := connectionDeeds(role, store)
	switch role {
	case roles.Bank:
		deeds = append(deeds, bankDeeds()...)
	case roles.Relay, roles.Receipts:
		deeds = append(deeds, relayDeeds(relayPoints())...)
	case roles.Exact:
		deeds = append(deeds, relayDeeds(exactPoints())...)
	case roles.Ledger:
		deeds = append(deeds, ledgerDeeds()...)
	case roles.Notifier:
		deeds = append(deeds, notifierDeeds()...)
	}
	deeds = append(deeds, deed{"process/" + role, kindKill, often})
	if role != roles.Bank {
		deeds = append(deeds, deed{"process/" + role, roles.KindStop, often})
	}
	return deeds
}

// connectionDeeds affect the connection to the database.
func connectionDeeds(role, store string) []deed {
	point := pointConnection(role, store)
	deeds := []deed{{point, kindTerminate, often}, {point, roles.KindCut, often}, {point, kindHold, seldom}}
	if role != roles.Notifier { // the notifier has no transactions
		deeds = append(deeds, deed{point, kindBeforeCommit, often}, deed{point, kindAfterCommit, often})
	}
	return deeds
}

func bankDeeds() []deed {
	var deeds []deed
	for _, point := range []failpoint.Name{failpoint.ProducerBeforeInsert, failpoint.ProducerAfterInsert} {
		deeds = append(deeds, at(point, often, roles.KindError, roles.KindPanic, roles.KindCut, roles.KindCancel)...)
		deeds = append(deeds, at(point, seldom, roles.KindExit)...)
	}
	deeds = append(deeds, at(failpoint.ProducerCommitAmbiguous, often, roles.KindCut)...)
	return append(deeds, at(failpoint.ProducerAfterCommitBeforeWake, often, roles.KindPanic, roles.KindExit, roles.KindCancel)...)
}

func relayPoints() []failpoint.Name {
	return []failpoint.Name{
		failpoint.RelayClaimWaits, failpoint.RelayLeaseAcquired, failpoint.RelayWindowOpened, failpoint.RelayAfterFetch,
		failpoint.RelayMidBatch, failpoint.RelaySentNotAcked, failpoint.RelayAckedBeforeAdvance,
		failpoint.RelayAdvanceAmbiguous, failpoint.RelayLatePositionWrite, failpoint.RelayBetweenPages,
		failpoint.RelayBeforeFinishWindow, failpoint.RelayBeforeRenew, failpoint.RelayLeaseLostWhileSending,
		failpoint.RelayBeforePark, failpoint.RelayAfterPark, failpoint.RelayCloseMidBatch, failpoint.RelayDropWaits,
	}
}

func exactPoints() []failpoint.Name {
	return []failpoint.Name{
		failpoint.RelayClaimWaits, failpoint.RelayLeaseAcquired, failpoint.RelayWindowOpened, failpoint.RelayAfterFetch,
		failpoint.RelayBetweenPages, failpoint.RelayBeforeFinishWindow, failpoint.RelayBeforeRenew,
		failpoint.RelaySentNotAcked, failpoint.RelayFenced, failpoint.RelayPositionRead,
		failpoint.RelayTransactionBegun, failpoint.RelayTransactionFlushed,
	}
}

// relayDeeds returns the deeds for a relay. A panic in a relay ends its process.
func relayDeeds(points []failpoint.Name) []deed {
	var deeds []deed
	for _, point := range points {
		deeds = append(deeds, at(point, often, roles.KindError)...)
		deeds = append(deeds, at(point, seldom, roles.KindExit, roles.KindPanic)...)
		switch point {
		case failpoint.RelayCloseMidBatch: // the relay's process is about to end
		case failpoint.RelayDropWaits, failpoint.RelayClaimWaits: // there is no term that could be lost
			deeds = append(deeds, at(point, often, roles.KindCut)...)
			deeds = append(deeds, at(point, seldom, roles.KindCancel)...)
		default:
			deeds = append(deeds, at(point, often, roles.KindCut)...)
			deeds = append(deeds, at(point, seldom, roles.KindStop, roles.KindCancel)...)
		}
	}
	return append(deeds, at(failpoint.RelayBeforeRenew, often, roles.KindPause)...) // the lease expires in that time
}

func ledgerDeeds() []deed {
	var deeds []deed
	for _, point := range []failpoint.Name{
		failpoint.ConsumerAfterReceive, failpoint.ConsumerAfterTrylock, failpoint.ConsumerAfterClaim,
		failpoint.ConsumerMidHandler, failpoint.ConsumerPanic, failpoint.ConsumerAttemptWrite,
		failpoint.ConsumerBeforeCommit, failpoint.ConsumerAfterCommitBeforeAck, failpoint.ConsumerCommitAmbiguous,
	} {
		deeds = append(deeds, at(point, often, roles.KindError, roles.KindPanic)...)
		deeds = append(deeds, at(point, seldom, roles.KindExit, roles.KindStop, roles.KindCancel)...)
		if point != failpoint.ConsumerCommitAmbiguous && point != failpoint.ConsumerAfterCommitBeforeAck {
			deeds = append(deeds, at(point, often, roles.KindCut)...)
		}
	}
	deeds = append(deeds, at(failpoint.ConsumerCommitAmbiguous, often, roles.KindCut)...)
	deeds = append(deeds, at(failpoint.ConsumerAckLost, often, roles.KindError)...)
	deeds = append(deeds, at(failpoint.ConsumerRebalanceMidHandler, often, roles.KindRebalance)...)
	for _, point := range []failpoint.Name{failpoint.ConsumerAckLost, failpoint.ConsumerRebalanceMidHandler} {
		deeds = append(deeds, at(point, seldom, roles.KindExit, roles.KindStop, roles.KindCancel)...)
	}
	return deeds
}

func notifierDeeds() []deed {
	var deeds []deed
	for _, point := range []failpoint.Name{
		failpoint.DedupeClaimReplyLost, failpoint.DedupePausePastLease, failpoint.DedupeCompleteReplyLost, failpoint.DedupeLoseD,
		failpoint.DedupeLoseP, failpoint.DedupeEvict, failpoint.DedupeClockJump,
	} {
		deeds = append(deeds, at(point, often, roles.KindError)...)
		deeds = append(deeds, at(point, seldom, roles.KindExit, roles.KindCancel)...)
	}
	deeds = append(deeds, at(failpoint.DedupePausePastLease, often, roles.KindStop, roles.KindPanic)...)
	deeds = append(deeds, at(failpoint.DedupeLoseP, often, roles.KindLose)...)
	deeds = append(deeds, at(failpoint.DedupeEvict, often, roles.KindLose, roles.KindPanic)...)
	deeds = append(deeds, at(failpoint.DedupeClockJump, often, roles.KindJump)...)
	return append(deeds, at(failpoint.DedupeExtendFail, often, roles.KindError, roles.KindPause)...)
}

// at returns deeds at one failure point.
func at(point failpoint.Name, weight int, kinds ...string) []deed {
	var deeds []deed
	for _, kind := range kinds {
		deeds = append(deeds, deed{string(point), kind, weight})
	}
	return deeds
}
