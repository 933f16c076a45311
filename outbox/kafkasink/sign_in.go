package kafkasink

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
)

// errSignIn is a failure of a SASL mechanism on the client's side: there are no credentials, or
// the broker's answer counts as a refusal, such as OAUTHBEARER's answer to an expired token. It
// concerns the connection, and not the records that wait for it.
var errSignIn = errors.New("leat: kafka: sign in")

// signIn wraps the SASL mechanisms of client so that their errors are marked. The option goes
// before those that have set them: a client uses the first mechanism that the broker supports.
func signIn(client *kgo.Client) []kgo.Opt {
	mechanisms, _ := client.OptValue(kgo.SASL).([]sasl.Mechanism)
	opts := make([]kgo.Opt, len(mechanisms))
	for i, m := range mechanisms {
		opts[i] = kgo.SASL(mechanism{m})
	}
	return opts
}

type mechanism struct{ sasl.Mechanism }

// Authenticate implements sasl.Mechanism.
func (m mechanism) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	s, first, err := m.Mechanism.Authenticate(ctx, host)
	if err != nil {
		return nil, nil, m.failed(err)
	}
	return session{s, m}, first, nil
}

func (m mechanism) failed(err error) error {
	return fmt.Errorf("%w by %s: %w", errSignIn, m.Name(), err)
}

type session struct {
	sasl.Session

	by mechanism
}

// Challenge implements sasl.Session.
func (s session) Challenge(answer []byte) (done bool, next []byte, err error) {
	done, next, err = s.Session.Challenge(answer)
	if err != nil {
		err = s.by.failed(err)
	}
	return done, next, err
}
