// Go's net/http behind the subject contract, version 2 (docs/subjects.md).
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

type fetch struct {
	ID       int               `json:"id"`
	URL      string            `json:"url"`
	File     *string           `json:"file"`
	Method   string            `json:"method"`
	Headers  map[string]string `json:"headers"`
	BodyFile string            `json:"body_file"`
}

type job struct {
	Workload  string `json:"workload"`
	Transport string `json:"transport"`
	TLS       string `json:"tls"`
	Pattern   struct {
		Kind    string  `json:"kind"`
		EveryMS float64 `json:"every_ms"`
	} `json:"pattern"`
	Connections int     `json:"connections"`
	KeepAlive   bool    `json:"keep_alive"`
	Resumption  bool    `json:"resumption"`
	Fetches     []fetch `json:"fetches"`
	Trust       *string `json:"trust"`
	Output      *string `json:"output"`
	KeyLog      *string `json:"key_log"`
	Warmup      int     `json:"warmup"`
	TimeoutMS   int64   `json:"timeout_ms"`
}

type line map[string]any

var said sync.Mutex

func say(l line) {
	said.Lock()
	defer said.Unlock()
	text, err := json.Marshal(l)
	if err != nil {
		broken(err)
	}
	os.Stdout.Write(append(text, '\n'))
}

func unsupported(reason string) {
	say(line{"event": "unsupported", "reason": reason})
	os.Exit(127)
}

func broken(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		broken(err)
	}
	if j.Transport != "http/1.1" && j.Transport != "h2" {
		unsupported("net/http does not speak " + j.Transport)
	}
	if j.Transport == "h2" && j.TLS == "none" {
		unsupported("net/http speaks HTTP/2 over TLS unless it is set up by code of its own")
	}
	if !j.KeepAlive && j.Transport == "h2" {
		unsupported("net/http keeps a connection of HTTP/2 for the requests under way")
	}
	begun := time.Now()
	for i := 0; i < j.Warmup; i++ {
		warm := client(&j)
		(&run{job: &j, client: warm, zero: time.Now(), tell: func(line) {}}).work()
		warm.CloseIdleConnections()
	}
	ready := line{
		"event": "ready", "name": "net/http", "version": runtime.Version(),
		"key_log": j.KeyLog != nil && j.TLS != "none",
	}
	if j.Warmup > 0 {
		ready["warmup_ms"] = time.Since(begun).Seconds() * 1000
	}
	made := client(&j)
	say(ready)
	r := &run{job: &j, client: made, zero: time.Now(), tell: say}
	r.work()
	say(line{"event": "done"})
}

func client(j *job) *http.Client {
	return &http.Client{
		Transport: transport(j),
		Timeout:   time.Duration(j.TimeoutMS) * time.Millisecond,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

func transport(j *job) *http.Transport {
	t := &http.Transport{
		MaxConnsPerHost:     j.Connections,
		MaxIdleConnsPerHost: j.Connections,
		DisableKeepAlives:   !j.KeepAlive,
		DisableCompression:  true,
		ForceAttemptHTTP2:   j.Transport == "h2",
	}
	if j.Transport == "http/1.1" {
		t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	if j.TLS == "none" {
		return t
	}
	version := uint16(tls.VersionTLS13)
	if j.TLS == "1.2" {
		version = tls.VersionTLS12
	}
	t.TLSClientConfig = &tls.Config{MinVersion: version, MaxVersion: version}
	if j.Trust != nil {
		pem, err := os.ReadFile(*j.Trust)
		if err != nil {
			broken(err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem)
	}
	if j.Resumption {
		t.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if j.KeyLog != nil {
		file, err := os.OpenFile(*j.KeyLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			broken(err)
		}
		t.TLSClientConfig.KeyLogWriter = file
	}
	return t
}

// run is one round of the whole work.
type run struct {
	job         *job
	client      *http.Client
	zero        time.Time
	tell        func(line)
	mutex       sync.Mutex
	connections map[string]int
}

func (r *run) now() float64 {
	return float64(time.Since(r.zero).Nanoseconds()) / 1e6
}

func (r *run) work() {
	rest := r.job.Fetches
	if r.job.Workload == "page" && len(rest) > 0 {
		r.fetch(rest[0], r.now())
		rest = rest[1:]
	}
	if r.job.Pattern.Kind == "serial" {
		for _, one := range rest {
			r.fetch(one, r.now())
		}
		return
	}
	var all sync.WaitGroup
	for nth, one := range rest {
		started := r.now()
		if r.job.Pattern.Kind == "staggered" {
			started = float64(nth) * r.job.Pattern.EveryMS
			time.Sleep(time.Duration((started - r.now()) * 1e6))
		}
		all.Add(1)
		go func(one fetch, started float64) {
			defer all.Done()
			r.fetch(one, started)
		}(one, started)
	}
	all.Wait()
}

func (r *run) fetch(one fetch, started float64) {
	l := line{"event": "fetch", "id": one.ID, "started_ms": started}
	if err := r.ask(one, l); err != nil {
		l["error"] = err.Error()
		delete(l, "status")
	}
	l["ended_ms"] = r.now()
	r.tell(l)
}

func (r *run) ask(one fetch, l line) error {
	var times sync.Mutex
	note := func(name string) {
		times.Lock()
		l[name] = r.now()
		times.Unlock()
	}
	var conn net.Conn
	trace := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			conn = info.Conn
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { note("sent_ms") },
		GotFirstResponseByte: func() { note("first_byte_ms") },
	}
	request, err := request(httptrace.WithClientTrace(context.Background(), trace), one)
	if err != nil {
		return err
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if conn != nil {
		l["connection"] = r.connection(conn.LocalAddr().String())
	}
	var target io.Writer = io.Discard
	if one.File != nil && r.job.Output != nil {
		file, err := os.Create(filepath.Join(*r.job.Output, *one.File))
		if err != nil {
			return err
		}
		defer file.Close()
		target = file
	}
	count, err := io.Copy(target, answer.Body)
	if err != nil {
		return err
	}
	times.Lock()
	defer times.Unlock()
	l["status"], l["bytes"] = answer.StatusCode, count
	l["protocol"] = map[int]string{1: "http/1.1", 2: "h2"}[answer.ProtoMajor]
	if answer.TLS != nil {
		l["tls"] = map[uint16]string{tls.VersionTLS12: "TLSv1.2", tls.VersionTLS13: "TLSv1.3"}[answer.TLS.Version]
		l["resumed"] = answer.TLS.DidResume
	}
	return nil
}

func request(ctx context.Context, one fetch) (*http.Request, error) {
	var body io.Reader
	if one.BodyFile != "" {
		content, err := os.ReadFile(one.BodyFile)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(content)
	}
	// An empty method is GET.
	made, err := http.NewRequestWithContext(ctx, one.Method, one.URL, body)
	if err != nil {
		return nil, err
	}
	for name, value := range one.Headers {
		made.Header.Set(name, value)
	}
	if host := made.Header.Get("Host"); host != "" {
		made.Host = host
	}
	return made, nil
}

func (r *run) connection(socket string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.connections == nil {
		r.connections = map[string]int{}
	}
	if _, known := r.connections[socket]; !known {
		r.connections[socket] = len(r.connections)
	}
	return r.connections[socket]
}
