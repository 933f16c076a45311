package middleware

import "github.com/ThreeDotsLabs/watermill/message"

// refuse is the handler of a middleware that cannot work: it fails every
// message, so that none is lost.
func refuse(err error) message.HandlerFunc {
	return func(*message.Message) ([]*message.Message, error) { return nil, err }
}
