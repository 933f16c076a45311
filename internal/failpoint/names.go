package failpoint

// Name names a point. The part before the slash names the component that reaches it.
type Name string

// Points of a producer.
const (
	// ProducerBeforeInsert is before the outbox rows are written.
	ProducerBeforeInsert Name = "producer/before_insert"
	// ProducerAfterInsert is after the outbox rows are written, before COMMIT.
	ProducerAfterInsert Name = "producer/after_insert"
	// ProducerCommitAmbiguous is after COMMIT was sent, before its answer.
	ProducerCommitAmbiguous Name = "producer/commit_ambiguous"
	// ProducerAfterCommitBeforeWake is after COMMIT, before the relay is woken.
	ProducerAfterCommitBeforeWake Name = "producer/after_commit_before_wake"
)

// Points of a relay.
const (
	// RelayClaimWaits is before a lease is claimed.
	RelayClaimWaits Name = "relay/claim_waits"
	// RelayLeaseAcquired is after a lease was acquired.
	RelayLeaseAcquired Name = "relay/lease_acquired"
	// RelayWindowOpened is after a window was opened.
	RelayWindowOpened Name = "relay/window_opened"
	// RelayAfterFetch is after a page was read.
	RelayAfterFetch Name = "relay/after_fetch"
	// RelayMidBatch is inside a batch that is being sent.
	RelayMidBatch Name = "relay/mid_batch"
	// RelaySentNotAcked is after a page was sent, before the broker's answer.
	RelaySentNotAcked Name = "relay/sent_not_acked"
	// RelayAckedBeforeAdvance is after the answer, before the position moves.
	RelayAckedBeforeAdvance Name = "relay/acked_before_advance"
	// RelayAdvanceAmbiguous is after the position was written, before the answer.
	RelayAdvanceAmbiguous Name = "relay/advance_ambiguous"
	// RelayLatePositionWrite delays the write of a position.
	RelayLatePositionWrite Name = "relay/late_position_write"
	// RelayBetweenPages is between two pages of a window.
	RelayBetweenPages Name = "relay/between_pages"
	// RelayBeforeFinishWindow is before a window is finished.
	RelayBeforeFinishWindow Name = "relay/before_finish_window"
	// RelayBeforeRenew is before a lease is renewed.
	RelayBeforeRenew Name = "relay/before_renew"
	// RelayLeaseLostWhileSending is while a page is on its way, for the loss of the
	// lease.
	RelayLeaseLostWhileSending Name = "relay/lease_lost_while_sending"
	// RelayBeforePark is before a record is parked.
	RelayBeforePark Name = "relay/before_park"
	// RelayAfterPark is after a record was parked.
	RelayAfterPark Name = "relay/after_park"
	// RelayCloseMidBatch is when a relay is stopped inside a batch.
	RelayCloseMidBatch Name = "relay/close_mid_batch"
	// RelayFenced is after earlier incarnations were fenced at the destination,
	// before the position is read there.
	RelayFenced Name = "relay/fenced"
	// RelayPositionRead is after the position was read at the destination, before
	// the session moves there.
	RelayPositionRead Name = "relay/position_read"
	// RelayTransactionBegun is after a transaction of the destination was begun,
	// before anything is produced in it.
	RelayTransactionBegun Name = "relay/transaction_begun"
	// RelayTransactionFlushed is after the destination has taken all of a
	// transaction, before it is asked to commit.
	RelayTransactionFlushed Name = "relay/transaction_flushed"
	// RelayDropWaits is before a partition is dropped.
	RelayDropWaits Name = "relay/drop_waits"
)

// Points of a consumer.
const (
	// ConsumerAfterReceive is after a message was received.
	ConsumerAfterReceive Name = "consumer/after_receive"
	// ConsumerAfterTrylock is after the message's lock was taken.
	ConsumerAfterTrylock Name = "consumer/after_trylock"
	// ConsumerAfterClaim is after the message was claimed, before the handler.
	ConsumerAfterClaim Name = "consumer/after_claim"
	// ConsumerMidHandler is inside the handler.
	ConsumerMidHandler Name = "consumer/mid_handler"
	// ConsumerPanic is where a handler may panic.
	ConsumerPanic Name = "consumer/panic"
	// ConsumerAttemptWrite is where an attempt is recorded.
	ConsumerAttemptWrite Name = "consumer/attempt_write"
	// ConsumerBeforeCommit is after the handler, before COMMIT.
	ConsumerBeforeCommit Name = "consumer/before_commit"
	// ConsumerCommitAmbiguous is after COMMIT was sent, before its answer.
	ConsumerCommitAmbiguous Name = "consumer/commit_ambiguous"
	// ConsumerAfterCommitBeforeAck is after COMMIT, before the message is acked.
	ConsumerAfterCommitBeforeAck Name = "consumer/after_commit_before_ack"
	// ConsumerAckLost is after the ack, for an ack that never arrives.
	ConsumerAckLost Name = "consumer/ack_lost"
	// ConsumerRebalanceMidHandler is inside the handler, for a rebalance.
	ConsumerRebalanceMidHandler Name = "consumer/rebalance_mid_handler"
)

// Points of a run under a lease. Those that are reached after a claim or a completion are where a
// test loses it.
const (
	// DedupeClaimReplyLost is after a claim, for an answer that never arrives.
	DedupeClaimReplyLost Name = "dedupe/claim_reply_lost"
	// DedupeLoseP is after a claim, before the handler, for the loss of the record.
	DedupeLoseP Name = "dedupe/lose_P"
	// DedupeEvict is at the same place, for a store that evicts records.
	DedupeEvict Name = "dedupe/evict"
	// DedupeClockJump is at the same place, for a step of the store's clock.
	DedupeClockJump Name = "dedupe/clock_jump"
	// DedupeExtendFail is before a lease is extended.
	DedupeExtendFail Name = "dedupe/extend_fail"
	// DedupePausePastLease is after the handler, before the message is completed.
	DedupePausePastLease Name = "dedupe/pause_past_lease"
	// DedupeCompleteReplyLost is after a completion, for an answer that never
	// arrives.
	DedupeCompleteReplyLost Name = "dedupe/complete_reply_lost"
	// DedupeLoseD is after a completion, before the message is acknowledged, for
	// the loss of the record.
	DedupeLoseD Name = "dedupe/lose_D"
)

// Names returns every valid name.
func Names() []Name {
	return []Name{
		ProducerBeforeInsert, ProducerAfterInsert, ProducerCommitAmbiguous, ProducerAfterCommitBeforeWake,
		RelayClaimWaits, RelayLeaseAcquired, RelayWindowOpened, RelayAfterFetch, RelayMidBatch, RelaySentNotAcked,
		RelayAckedBeforeAdvance, RelayAdvanceAmbiguous, RelayLatePositionWrite, RelayBetweenPages,
		RelayBeforeFinishWindow, RelayBeforeRenew, RelayLeaseLostWhileSending, RelayBeforePark, RelayAfterPark,
		RelayCloseMidBatch, RelayFenced, RelayPositionRead, RelayTransactionBegun, RelayTransactionFlushed, RelayDropWaits,
		ConsumerAfterReceive, ConsumerAfterTrylock, ConsumerAfterClaim, ConsumerMidHandler, ConsumerPanic,
		ConsumerAttemptWrite, ConsumerBeforeCommit, ConsumerCommitAmbiguous, ConsumerAfterCommitBeforeAck,
		ConsumerAckLost, ConsumerRebalanceMidHandler,
		DedupeClaimReplyLost, DedupeLoseP, DedupeEvict, DedupeClockJump, DedupeExtendFail, DedupePausePastLease,
		DedupeCompleteReplyLost, DedupeLoseD,
	}
}
