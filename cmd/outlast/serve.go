package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/desk"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/cmd/outlast/rowcall"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

func serveCommand() *cli.Command {
	flags := serveFlags()
	return &cli.Command{
		Name: "serve", Short: "run the daemon: the HTTP API, recovery, schedules, calls and deliveries",
		Long: "SIGTERM drains: runs may end for --shutdown-timeout, the rest is given back. SIGTSTP quiets: nothing more is taken up.\n" +
			"Each option can stand in the environment and in the file that --config names.",
		Flags:   flags,
		Example: "outlast serve\noutlast serve --store postgres://user@host/database --listen 0.0.0.0:7070 --tls-cert cert.pem --tls-key key.pem\noutlast serve --config /etc/outlast/outlast.yaml",
		Run:     func(ctx context.Context, l *cli.Line) error { return withFile(ctx, l, flags, serve) },
	}
}

// daemon is what serve has opened.
type daemon struct {
	l       *cli.Line
	log     *slog.Logger
	url     string
	slots   map[string]int
	client  call.ClientConfig
	secrets []string
	push    map[string]string
	tokens  *api.Tokens

	server  atomic.Pointer[api.Server]
	stores  []store.Store
	kernels []*kernel.Kernel
	spaces  map[string]api.Space
}

func serve(ctx context.Context, l *cli.Line) (err error) {
	d := &daemon{l: l, log: logger(l), spaces: map[string]api.Space{}}
	if err := d.configure(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	cfg := api.Config{
		Tokens: d.tokens, Open: l.On("open"), Rate: float64(l.Number("rate")), MaxBody: int64(l.Number("max-body")), MaxUpload: int64(l.Number("max-upload")), Logger: d.log,
		Spaces: map[string]api.Space{}, Version: buildVersion(),
	}
	main, err := d.space(ctx, l.Text("namespace"))
	if err != nil {
		return err
	}
	cfg.Calls, cfg.Recipes = main.Calls, main.Recipes
	for _, name := range l.Many("spaces") {
		if cfg.Spaces[name], err = d.space(ctx, name); err != nil {
			return err
		}
	}
	d.server.Store(api.New(main.Kernel, cfg)) //nolint:contextcheck // each request has its own
	listener, err := d.listen(ctx)
	if err != nil {
		return err
	}
	return d.run(ctx, listener)
}

// configure reads what can be wrong before anything is opened.
func (d *daemon) configure() (err error) {
	l := d.l
	if d.url, err = storeURL(l); err != nil {
		return err
	}
	if err := makeFolder(l, d.url); err != nil {
		return err
	}
	if d.slots, err = slotsOf(l.Many("slots")); err != nil {
		return err
	}
	if d.push, err = pairs("push", "KIND=URL", l.Many("push")); err != nil {
		return err
	}
	if err := d.readSecrets(); err != nil {
		return err
	}
	if err := d.guard(); err != nil {
		return err
	}
	if (l.Text("tls-cert") == "") != (l.Text("tls-key") == "") {
		return cli.Misused("--tls-cert and --tls-key belong together; one of them is missing")
	}
	return d.authority()
}

// authority reads the tokens, and refuses to let strangers in by accident.
func (d *daemon) authority() error {
	path, named := d.l.Text("tokens"), true
	if path == "" {
		path, named = tokensPath(d.l), false
	}
	if _, err := os.Stat(path); named || err == nil {
		list, err := api.OpenTokens(path)
		if err != nil {
			return err
		}
		if all, err := list.List(); err != nil || len(all) > 0 || named {
			d.tokens = list
			return err
		}
	}
	host, _, err := net.SplitHostPort(d.l.Text("listen"))
	if err != nil {
		return cli.Misused("--listen is %q; write it as host:port, for example 127.0.0.1:7070", d.l.Text("listen"))
	}
	ip, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !ip.IsLoopback()) && !d.l.On("open") {
		return cli.Misused("--listen %s can be reached by others, and there are no tokens: make one by \"outlast token create\", or say --open if everybody may do everything", d.l.Text("listen"))
	}
	return nil
}

// guard says what calls and deliveries may reach.
func (d *daemon) guard() error {
	d.client = call.ClientConfig{Logger: d.log}
	if d.l.On("no-guard") {
		return nil
	}
	g := &call.Guard{}
	for _, text := range d.l.Many("allow-net") {
		net, err := netip.ParsePrefix(text)
		if err != nil {
			return cli.Misused("--allow-net is %q; write it as 10.0.0.0/8", text)
		}
		g.Nets = append(g.Nets, net)
	}
	for _, text := range d.l.Many("allow-port") {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return cli.Misused("--allow-port is %q; it must be a number from 1 to 65535", text)
		}
		g.Ports = append(g.Ports, port)
	}
	d.client.Guard = g
	return nil
}

func (d *daemon) readSecrets() error {
	path := d.l.Text("secret-file")
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("secrets: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			d.secrets = append(d.secrets, line)
		}
	}
	if len(d.secrets) == 0 {
		return fmt.Errorf("secrets: there is none in %s", path)
	}
	return nil
}

// space opens a namespace of the store, with a kernel that makes calls and deliveries.
func (d *daemon) space(ctx context.Context, namespace string) (s api.Space, err error) {
	st, err := engine.Open(ctx, d.url, engine.Options{Namespace: namespace, Log: d.log})
	if err != nil {
		return s, err
	}
	d.stores = append(d.stores, st)
	ring, err := keyRing(d.l)
	if err != nil {
		return s, err
	}
	cfg := kernel.Config{
		Slots: d.slots, DeadAfter: d.l.Span("dead-after"), Beat: min(time.Second, d.l.Span("dead-after")/5), ShutdownTimeout: d.l.Span("shutdown-timeout"),
		Version: buildVersion(), Logger: d.log,
	}
	if ring != nil {
		cfg.Sealer = ring
	}
	name := st.Info().Namespace
	cfg.Observe = func(e kernel.Event) {
		if s := d.server.Load(); s != nil {
			s.Observe(name, e)
		}
	}
	if s.Kernel, err = kernel.New(st, cfg); err != nil {
		return s, err
	}
	d.kernels = append(d.kernels, s.Kernel)
	if s.Calls, err = api.NewCalls(s.Kernel, d.client, d.secrets...); err != nil {
		return s, err
	}
	rows, err := rowcall.NewService(d.client)
	if err != nil {
		return s, err
	}
	rows.Serve(s.Kernel)
	s.Recipes = rows
	d.spaces[name] = s
	_, err = api.NewPush(ctx, s.Kernel, d.push, api.PushConfig{Client: d.client, Secrets: d.secrets, Silence: d.l.Span("push-silence")})
	return s, err
}

func (d *daemon) listen(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", d.l.Text("listen"))
	if err != nil {
		return nil, fmt.Errorf("listen: %w; is another daemon running? --listen names another address", err)
	}
	cert := d.l.Text("tls-cert")
	if cert == "" {
		return listener, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, d.l.Text("tls-key"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("TLS: %w", err), listener.Close())
	}
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}), nil
}

// handler parts what comes: the API has its paths, everything else is the dashboard's, if there is one.
func (d *daemon) handler() http.Handler {
	server := d.server.Load()
	if d.l.Text("dashboard") != "true" {
		return server
	}
	front := desk.New(d.kernels[0].Store().Namespace, d.spaces, desk.Config{
		Tokens: d.tokens, Open: d.l.On("open"), ReadOnly: d.l.On("dashboard-read-only"), Secure: d.l.Text("tls-cert") != "", Slow: server.Slow, Logger: d.log,
	})
	mux := http.NewServeMux()
	mux.Handle("/", front)
	for _, path := range []string{"/v1/", "/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, server)
	}
	return mux
}

// run serves until ctx ends, and drains then: the API answers until the kernels have drained, so that workers elsewhere can bring what
// they have done.
func (d *daemon) run(ctx context.Context, listener net.Listener) error {
	base, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	web := &http.Server{
		Handler: d.handler(), BaseContext: func(net.Listener) context.Context { return base }, ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelWarn),
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	quiet := onQuiet(d.quiet)
	defer quiet()
	var running, serving sync.WaitGroup
	errs := make([]error, len(d.kernels))
	for i, k := range d.kernels {
		running.Go(func() {
			errs[i] = k.Run(inner)
			stop(errs[i]) // one that cannot go on takes the daemon along
		})
	}
	var served error
	serving.Go(func() {
		if served = web.Serve(listener); !errors.Is(served, http.ErrServerClosed) {
			stop(served)
		}
	})
	d.announce(listener)
	running.Wait()
	hangUp()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := web.Shutdown(end)
	serving.Wait()
	if errors.Is(served, http.ErrServerClosed) {
		served = nil
	}
	d.log.Info("daemon stopped")
	return errors.Join(append(errs, served, err)...)
}

func (d *daemon) announce(listener net.Listener) {
	scheme := "http"
	if d.l.Text("tls-cert") != "" {
		scheme = "https"
	}
	d.l.Say("listening on %s://%s", scheme, listener.Addr())
	info := d.kernels[0].Store()
	d.log.Info("daemon started", "version", buildVersion(), "engine", info.Engine, "namespace", info.Namespace, "tokens", d.tokens != nil, "guard", d.client.Guard != nil)
	if info.Volatile {
		d.log.Warn("the store is gone with this process", "engine", info.Engine)
	}
}

// quiet takes up nothing more, and goes on with what runs.
func (d *daemon) quiet() {
	d.log.Info("daemon quiet: nothing more is taken up")
	for _, k := range d.kernels {
		k.Quiet()
	}
}

func (d *daemon) close() (err error) {
	for _, k := range d.kernels {
		k.Close()
	}
	for _, st := range d.stores {
		err = errors.Join(err, st.Close())
	}
	return err
}

func logger(l *cli.Line) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Text("log-level"))) // one of the words of the flag
	opts := &slog.HandlerOptions{Level: level}
	if l.Text("log-format") == "json" {
		return slog.New(slog.NewJSONHandler(l.Err, opts))
	}
	return slog.New(slog.NewTextHandler(l.Err, opts))
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// slotsOf reads how many tasks of which queue run at once.
func slotsOf(list []string) (map[string]int, error) {
	if len(list) == 0 {
		return map[string]int{kernel.DefaultQueue: 100, "calls": 256, "callbacks": 64, rowcall.Queue: 64}, nil
	}
	texts, err := pairs("slots", "QUEUE=N", list)
	if err != nil {
		return nil, err
	}
	slots := map[string]int{}
	for queue, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, cli.Misused("--slots gives queue %q %q; it must be a number from 1", queue, text)
		}
		slots[queue] = n
	}
	return slots, nil
}

// pairs reads values of the form name=value.
func pairs(flag, form string, list []string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" || value == "" {
			return nil, cli.Misused("--%s is %q; write it as %s", flag, cli.Mask(text), form)
		}
		all[name] = value
	}
	return all, nil
}

// tokensPath is where tokens are kept unless somebody says otherwise.
func tokensPath(l *cli.Line) string {
	dir := l.Getenv("XDG_DATA_HOME")
	if dir == "" {
		dir = filepath.Join(l.Getenv("HOME"), ".local", "share")
	}
	return filepath.Join(dir, "outlast", "tokens")
}
