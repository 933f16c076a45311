package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/aws/smithy-go/transport/http"

	"github.com/leat-go/leat/internal/ids"
)

// answerFor is the time that a try waits for its answer.
const answerFor = 10 * time.Second

// request is one TransactWriteItems. Each try sends the same bytes: the SDK writes maps in a
// different order each time, and AWS does not promise that a token accepts that.
type request struct {
	items []types.TransactWriteItem
	token string
	body  string // empty before the first try
}

func newRequest(items []types.TransactWriteItem) (*request, error) {
	token, err := ids.New()
	if err != nil {
		return nil, fmt.Errorf("leat: transaction: %w", err)
	}
	return &request{items: items, token: token}, nil
}

// send tries once, and returns the outcome.
func (r *request) send(ctx context.Context, db *dynamodb.Client) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	var way way
	_, err := db.TransactWriteItems(way.trace(ctx), &dynamodb.TransactWriteItemsInput{
		TransactItems: r.items, ClientRequestToken: &r.token,
	}, func(options *dynamodb.Options) {
		options.Retryer = aws.NopRetryer{}
		options.APIOptions = append(slices.Clip(options.APIOptions), r.keepBody, way.watch)
	})
	switch {
	case err == nil:
		return outcomeDone, nil
	case !way.handed.Load() || way.connecting.Load() && !way.connected.Load():
		return outcomeUnsent, err
	}
	return classify(err), err
}

// keepBody adds a step to the SDK that replaces the body with the bytes of the first try, before
// it is signed.
func (r *request) keepBody(stack *middleware.Stack) error {
	return stack.Build.Add(middleware.BuildMiddlewareFunc("leatKeepBody", func(
		ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler,
	) (middleware.BuildOutput, middleware.Metadata, error) {
		request, ok := in.Request.(*http.Request)
		if !ok {
			return middleware.BuildOutput{}, middleware.Metadata{}, errNoHTTP
		}
		if r.body == "" {
			body, err := io.ReadAll(request.GetStream())
			if err != nil {
				return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("leat: keep a request: %w", err)
			}
			r.body = string(body)
		}
		request, err := request.SetStream(strings.NewReader(r.body))
		if err != nil {
			return middleware.BuildOutput{}, middleware.Metadata{}, fmt.Errorf("leat: keep a request: %w", err)
		}
		in.Request = request
		return next.HandleBuild(ctx, in)
	}), middleware.Before)
}

var errNoHTTP = errors.New("leat: the SDK has made no request of HTTP")

// way is how far a request has got.
type way struct {
	handed     atomic.Bool // handed to the HTTP client
	connecting atomic.Bool // the client is getting a connection: it is that of net/http
	connected  atomic.Bool // it has got a connection
}

func (w *way) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.connecting.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.connected.Store(true) },
	})
}

// watch adds the last step before the HTTP client.
func (w *way) watch(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("leatWatch", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		w.handed.Store(true)
		return next.HandleDeserialize(ctx, in)
	}), middleware.After)
}
