// Package deadletter names the headers of dead letters: messages that a consumer has given
// up and enqueued for another topic.
//
// Stability: young, see docs/versions.md.
package deadletter

// Headers that a dead letter carries beside the message's own.
const (
	// HeaderConsumer is the name of the consumer that gave the message up.
	HeaderConsumer = "leat_dead_consumer"
	// HeaderID is the message's own id. The dead letter has another, which is a
	// function of it and the consumer: two consumers may give up one message.
	HeaderID = "leat_dead_id"
	// HeaderTopic is the topic that the message was read from.
	HeaderTopic = "leat_dead_topic"
	// HeaderReason is the text of the last error.
	HeaderReason = "leat_dead_reason"
	// HeaderAttempts is the number of attempts.
	HeaderAttempts = "leat_dead_attempts"
	// HeaderFirst and HeaderLast are the times of the first and the last
	// attempt, as RFC 3339 in UTC.
	HeaderFirst = "leat_dead_first"
	HeaderLast  = "leat_dead_last"
)
