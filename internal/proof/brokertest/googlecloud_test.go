package brokertest_test

import (
	"testing"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/pstest"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-googlecloud/v2/pkg/googlecloud"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

//leat:level 2
func TestGoogleCloud(t *testing.T) {
	t.Parallel()
	server := pstest.NewServer()
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	options := []option.ClientOption{
		option.WithEndpoint(server.Addr), option.WithoutAuthentication(), option.WithTelemetryDisabled(), option.WithGRPCConnectionPool(1),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
	const project = "leat"
	settings := pubsub.DefaultPublishSettings
	settings.CountThreshold = 1 // the publisher waits for each message before it begins the next
	run(t, tests.Features{}, false, func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		t.Helper()
		publisher, err := googlecloud.NewPublisher(googlecloud.PublisherConfig{
			ProjectID: project, ClientOptions: options, PublishSettings: &settings, PublishTimeout: patience,
		}, watermill.NopLogger{})
		require.NoError(t, err)
		subscriber, err := googlecloud.NewSubscriber(googlecloud.SubscriberConfig{
			ProjectID: project, ClientOptions: options, GenerateSubscriptionName: googlecloud.TopicSubscriptionNameWithSuffix("_" + group),
		}, watermill.NopLogger{})
		require.NoError(t, err)
		return publisher, subscriber
	})
}
