package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"

	"github.com/outlast-go/outlast/bench/part"
)

const loopback = "127.0.0.1"

// serve starts the server with all its services on free ports, on the store of an order.
func serve(ctx context.Context, o part.Order) (address string, stop func() error, err error) {
	data, err := open(ctx, o.URL)
	if err != nil {
		return "", nil, err
	}
	cfg, err := configure(o, data)
	if err != nil {
		return "", nil, err
	}
	home, err := sqlite.NewNamespaceConfig("active", namespace, false, nil)
	if err != nil {
		return "", nil, err
	}
	if err := sqlite.CreateNamespaces(data.tasks, home); err != nil { // it writes through the plugin of the store, whichever that is
		return "", nil, fmt.Errorf("create the namespace: %w", err)
	}
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "error"})) // to standard error
	claims, err := authorization.GetClaimMapperFromConfig(&cfg.Global.Authorization, logger)
	if err != nil {
		return "", nil, err
	}
	s, err := temporal.NewServer(
		temporal.WithConfig(cfg), temporal.ForServices(temporal.DefaultServices), temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamicconfig.NewNoopClient()),
	)
	if err != nil {
		return "", nil, err
	}
	return cfg.PublicClient.HostPort, s.Stop, s.Start()
}

// configure is the smallest configuration with which the server starts.
func configure(o part.Order, data stores) (*config.Config, error) {
	ports, err := free(8)
	if err != nil {
		return nil, err
	}
	service := func(i int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: ports[i], MembershipPort: ports[i+4], BindOnLocalHost: true}}
	}
	address := fmt.Sprintf("%s:%d", loopback, ports[0])
	shards := int32(1) // as the development server has it
	if o.Setting != "" {
		shards = 4
	}
	off := config.ArchivalNamespaceDefaults{
		History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
		Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
	}
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: loopback}},
		Persistence: config.Persistence{
			DefaultStore: "tasks", VisibilityStore: "visibility", NumHistoryShards: shards,
			DataStores: map[string]config.DataStore{"tasks": {SQL: data.tasks}, "visibility": {SQL: data.visibility}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]cluster.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            map[string]config.Service{"frontend": service(0), "history": service(1), "matching": service(2), "worker": service(3)},
		Archival:            config.Archival{History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"}},
		PublicClient:        config.PublicClient{HostPort: address},
		NamespaceDefaults:   config.NamespaceDefaults{Archival: off},
	}, nil
}

// free are ports that nobody listens on, below 32768: the server keeps them in PostgreSQL as numbers of two bytes.
func free(n int) (list []int, err error) {
	for port := 12_000 + os.Getpid()*37%18_000; len(list) < n; port++ {
		if port >= 1<<15 {
			return nil, errors.New("no port is free")
		}
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", loopback, port)) //nolint:noctx // it is over at once
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		list = append(list, port)
	}
	return list, nil
}
