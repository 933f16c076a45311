package points

import (
	"slices"

	"github.com/leat-go/leat/internal/failpoint"
)

// Checks returns all tests that arm points on real servers.
func Checks() []Check {
	return slices.Concat(producerChecks(), relayChecks(), exactChecks(), consumerChecks(), dedupeChecks())
}

const (
	pgoutbox    = "outbox/pgoutbox"
	wmforward   = "outbox/wmforward"
	kafkasink   = "outbox/kafkasink"
	amqpsink    = "outbox/amqpsink"
	redissink   = "outbox/redissink"
	natssink    = "outbox/natssink"
	pginbox     = "inbox/pginbox"
	kafkasource = "inbox/kafkasource"
	sqloutbox   = "internal/proof/sqltest/sqloutbox"
	sqlinbox    = "internal/proof/sqltest/sqlinbox"
	redisdedupe = "dedupe/redisdedupe"
)

func producerChecks() []Check {
	points := []failpoint.Name{
		failpoint.ProducerBeforeInsert, failpoint.ProducerAfterInsert,
		failpoint.ProducerCommitAmbiguous, failpoint.ProducerAfterCommitBeforeWake,
	}

	return []Check{
		{pgoutbox, "TestO1_ProducerAtEveryPoint", points, []Kind{Error, Panic, Pause, Cancel, Cut}},
		{pgoutbox, "TestO1_ProducerProcessDiesAtEveryPoint", points, []Kind{Exit}},
		{sqloutbox, "TestO1_ProducerAtEveryPoint", points, []Kind{Error, Panic, Pause, Cancel}},
		{sqloutbox, "TestO1_ProducerAtEveryPoint", points[:3], []Kind{Cut}},
	}
}

// relayChecks returns the checks of relays that deliver at least once.
func relayChecks() []Check {
	always := []failpoint.Name{
		failpoint.RelayLeaseAcquired, failpoint.RelayWindowOpened, failpoint.RelayAfterFetch,
		failpoint.RelaySentNotAcked, failpoint.RelayAckedBeforeAdvance, failpoint.RelayAdvanceAmbiguous,
		failpoint.RelayLatePositionWrite, failpoint.RelayBetweenPages, failpoint.RelayBeforeFinishWindow,
		failpoint.RelayBeforeRenew, failpoint.RelayClaimWaits,
	}
	parking := []failpoint.Name{failpoint.RelayBeforePark, failpoint.RelayAfterPark}
	sending := []failpoint.Name{failpoint.RelayMidBatch, failpoint.RelayLeaseLostWhileSending}
	stopping := []failpoint.Name{failpoint.RelayCloseMidBatch}
	dropping := []failpoint.Name{failpoint.RelayDropWaits}
	most := slices.Concat(always, parking, []failpoint.Name{failpoint.RelayLeaseLostWhileSending})

	return []Check{
		{pgoutbox, "TestO2_ErrorAtEveryPoint", always, []Kind{Error}},
		{pgoutbox, "TestO2_ProcessDiesAtEveryPoint", slices.Concat(always, sending), []Kind{Exit, Panic}},
		{pgoutbox, "TestO9_PausedPastTheLease", most, []Kind{Pause}},
		{pgoutbox, "TestO13_StoppedAtEveryPoint", slices.Concat(most, stopping), []Kind{Cancel}},
		{pgoutbox, "TestO2_CutAtEveryPoint", most, []Kind{Cut}},
		{pgoutbox, "TestO2_EveryKindWhileSending", sending, []Kind{Error, Pause, Cancel, Cut}},
		{pgoutbox, "TestO2_FaultsAroundPark", parking, []Kind{Error, Panic, Pause, Cancel, Cut}},
		{pgoutbox, "TestO2_O6_ProcessDiesAroundPark", parking, []Kind{Exit, Panic}},
		{pgoutbox, "TestO13_EveryKindWhenStoppedInABatch", stopping, []Kind{Error, Pause, Cut}},
		{pgoutbox, "TestO13_DiesWhenStoppedInABatch", stopping, []Kind{Exit, Panic}},
		{pgoutbox, "TestO2_DropWaits_Faults", dropping, []Kind{Error, Panic, Cancel, Cut}},
		{pgoutbox, "TestO2_DropWaits_ProcessDies", dropping, []Kind{Exit}},
		{pgoutbox, "TestO14_DropWaits_Zombie", dropping, []Kind{Pause}},
		{amqpsink, "TestO2_FailurePointOfSending", sending[:1], []Kind{Error, Panic, Cancel, Cut}},
		{redissink, "TestO2_FailurePointOfSending", sending[:1], []Kind{Error, Panic, Cancel, Cut}},
		{natssink, "TestO2_FailurePointOfSending", sending[:1], []Kind{Error, Panic, Cancel, Cut}},
		{wmforward, "TestO2_EveryPointOfAForwardersTable", slices.Concat(parking, []failpoint.Name{
			failpoint.RelayWindowOpened, failpoint.RelayLatePositionWrite, failpoint.RelayAdvanceAmbiguous, failpoint.RelayBeforeFinishWindow,
		}), []Kind{Error, Cancel, Cut}},
	}
}

// exactChecks returns the checks of relays that deliver exactly once.
func exactChecks() []Check {
	only := []failpoint.Name{
		failpoint.RelayFenced, failpoint.RelayPositionRead, failpoint.RelayTransactionBegun, failpoint.RelayTransactionFlushed,
	}

	return []Check{
		{pgoutbox, "TestR12_EveryKindOnPostgres", slices.Concat(only, []failpoint.Name{failpoint.RelayLatePositionWrite}), []Kind{Error, Pause, Cancel, Cut}},
		{pgoutbox, "TestR12_DiesAtEveryPointOnPostgres", only, []Kind{Exit, Panic}},
		{pgoutbox, "TestR12_DiesAtEveryPointOnPostgres", []failpoint.Name{
			failpoint.RelayWindowOpened, failpoint.RelaySentNotAcked, failpoint.RelayAckedBeforeAdvance,
			failpoint.RelayLatePositionWrite, failpoint.RelayAdvanceAmbiguous, failpoint.RelayBeforeFinishWindow,
		}, []Kind{Exit}},
		{kafkasink, "TestR12_ProcessDiesAtEveryPoint", slices.Concat(only, []failpoint.Name{
			failpoint.RelayLeaseAcquired, failpoint.RelayAfterFetch, failpoint.RelayBetweenPages, failpoint.RelayMidBatch,
			failpoint.RelaySentNotAcked, failpoint.RelayAckedBeforeAdvance, failpoint.RelayBeforeRenew,
		}), []Kind{Exit}},
		{kafkasink, "TestR12_ZombieProcess", []failpoint.Name{
			failpoint.RelayFenced, failpoint.RelayTransactionBegun, failpoint.RelayMidBatch,
			failpoint.RelayTransactionFlushed, failpoint.RelaySentNotAcked,
		}, []Kind{Pause}},
	}
}

func consumerChecks() []Check {
	handled := []failpoint.Name{
		failpoint.ConsumerAfterReceive, failpoint.ConsumerAttemptWrite, failpoint.ConsumerAfterTrylock,
		failpoint.ConsumerAfterClaim, failpoint.ConsumerPanic, failpoint.ConsumerMidHandler, failpoint.ConsumerBeforeCommit,
		failpoint.ConsumerCommitAmbiguous, failpoint.ConsumerAfterCommitBeforeAck, failpoint.ConsumerAckLost,
	}
	rebalance := []failpoint.Name{failpoint.ConsumerRebalanceMidHandler}
	parking := []failpoint.Name{failpoint.ConsumerAttemptWrite, failpoint.ConsumerAfterTrylock, failpoint.ConsumerCommitAmbiguous}

	return []Check{
		{pginbox, "TestI1_FailurePoints", handled, []Kind{Error, Panic, Pause, Cancel, Cut}},
		{pginbox, "TestI3_FailurePointsOfParking", parking, []Kind{Error, Panic, Pause, Cancel, Cut}},
		{pginbox, "TestI13_FailurePointsOfBatches", []failpoint.Name{
			failpoint.ConsumerAfterReceive, failpoint.ConsumerAttemptWrite, failpoint.ConsumerAfterClaim,
			failpoint.ConsumerBeforeCommit, failpoint.ConsumerCommitAmbiguous,
		}, []Kind{Error, Panic, Pause, Cancel, Cut}},
		{sqlinbox, "TestI1_FailurePointOfTheClaim", []failpoint.Name{failpoint.ConsumerAfterTrylock}, []Kind{Error, Panic, Cancel, Cut}},
		{sqlinbox, "TestI13_FailurePointOfBatches", []failpoint.Name{failpoint.ConsumerAfterTrylock}, []Kind{Error, Panic, Cancel, Cut}},
		{sqlinbox, "TestI3_FailurePointOfParking", []failpoint.Name{failpoint.ConsumerCommitAmbiguous}, []Kind{Error, Panic, Cancel, Cut}},
		{kafkasource, "TestI1_ProcessDiesAtEveryPoint", slices.Concat(handled, rebalance), []Kind{Exit}},
		{kafkasource, "TestI1_ProcessDiesAtEveryPoint", slices.Concat(rebalance, []failpoint.Name{failpoint.ConsumerAckLost}), []Kind{Panic}},
		{kafkasource, "TestI1_AckLost", []failpoint.Name{failpoint.ConsumerAckLost}, []Kind{Error}},
		{kafkasource, "TestI1_RebalanceMidHandler", rebalance, []Kind{Pause}},
		{kafkasource, "TestI1_EveryKindMidHandler", rebalance, []Kind{Error, Cancel, Cut}},
	}
}

func dedupeChecks() []Check {
	most := []failpoint.Name{
		failpoint.DedupeClaimReplyLost, failpoint.DedupeLoseP, failpoint.DedupeEvict, failpoint.DedupeClockJump,
		failpoint.DedupePausePastLease, failpoint.DedupeCompleteReplyLost, failpoint.DedupeLoseD,
	}
	extend := []failpoint.Name{failpoint.DedupeExtendFail}

	return []Check{
		{redisdedupe, "TestD6_D8_EveryKindAtEveryPoint", most, []Kind{Error, Panic, Pause, Cancel, Cut}},
		{redisdedupe, "TestD6_D8_EveryKindAtEveryPoint", extend, []Kind{Error, Pause, Cancel, Cut}},
		{redisdedupe, "TestD6_D8_FailurePoints", []failpoint.Name{
			failpoint.DedupeClaimReplyLost, failpoint.DedupeLoseP, failpoint.DedupeExtendFail, failpoint.DedupePausePastLease,
			failpoint.DedupeCompleteReplyLost, failpoint.DedupeLoseD,
		}, []Kind{Error}},
		{redisdedupe, "TestD6_StepThroughCrashes", slices.Concat(most, extend), []Kind{Exit}},
		{redisdedupe, "TestD6_StepThroughCrashes", extend, []Kind{Panic}},
	}
}
