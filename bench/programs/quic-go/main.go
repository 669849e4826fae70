// quic-go as a client and as a server of HTTP/3, for `bench/interop`: the same flags and lines of JSON as quic_peer.py.
// It cannot choose a cipher: Go's TLS 1.3 lets nobody. `-migrate` changes the client's address in the middle (RFC 9000 §9).
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlogwriter"
)

const (
	message  = "a message over HTTP/3 "
	messages = 20
)

var mask = [4]byte{1, 2, 3, 4}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "quic-peer: server or client")
		os.Exit(2)
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	run := map[string]func(*flag.FlagSet, []string) error{"server": server, "client": client}[os.Args[1]]
	if err := run(flags, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "quic-peer:", err)
		os.Exit(1)
	}
}

func say(line map[string]any) {
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func handshake(state quic.ConnectionState) map[string]any {
	return map[string]any{"resumed": state.TLS.DidResume, "early": state.Used0RTT}
}

func settings() *quic.Config {
	return &quic.Config{
		Versions:       []quic.Version{quic.Version1},
		Allow0RTT:      true,
		MaxIdleTimeout: time.Minute,
		// A path that loses three of ten datagrams takes its time.
		HandshakeIdleTimeout: 30 * time.Second,
		Tracer:               trace,
	}
}

// qlogs counts the qlog files that are not whole yet. quic-go's own tracer leaves them to a goroutine, which a process that ends
// takes along.
var qlogs sync.WaitGroup

type qlogFile struct{ *os.File }

func (file qlogFile) Close() error {
	defer qlogs.Done()
	return file.File.Close()
}

// trace writes a qlog file for a connection where the variable QLOGDIR names a folder.
func trace(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	folder := os.Getenv("QLOGDIR")
	if folder == "" {
		return nil
	}
	side := map[bool]string{true: "client", false: "server"}[isClient]
	file, err := os.Create(filepath.Join(folder, fmt.Sprintf("%s_%s.sqlog", id, side)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "quic-peer:", err)
		return nil
	}
	qlogs.Add(1)
	written := qlogwriter.NewConnectionFileSeq(qlogFile{file}, isClient, id)
	go written.Run()
	return written
}

// awaitQlogs waits until all qlog files are whole.
func awaitQlogs() {
	whole := make(chan struct{})
	go func() {
		qlogs.Wait()
		close(whole)
	}()
	select {
	case <-whole:
	case <-time.After(10 * time.Second):
		fmt.Fprintln(os.Stderr, "quic-peer: a qlog file is not whole after 10 s")
	}
}

// server serves files, and echoes what comes over WebSockets.
func server(flags *flag.FlagSet, args []string) error {
	address := flags.String("address", "127.0.0.1", "")
	port := flags.Int("port", 0, "")
	cert := flags.String("cert", "", "")
	key := flags.String("key", "", "")
	root := flags.String("root", ".", "")
	retry := flags.Bool("retry", false, "")
	_ = flags.Parse(args)
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(*address), Port: *port})
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket, VerifySourceAddress: func(net.Addr) bool { return *retry }}
	secrets := http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}})
	listener, err := transport.ListenEarly(secrets, settings())
	if err != nil {
		return err
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect && r.Proto == "websocket" {
			echo(w)
			return
		}
		http.ServeFile(w, r, filepath.Join(*root, filepath.Base(r.URL.Path)))
	})
	served := &http3.Server{Handler: handler}
	say(map[string]any{"ready": true})
	for {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			select {
			case <-conn.HandshakeComplete():
				say(map[string]any{"handshake": handshake(conn.ConnectionState())})
			case <-conn.Context().Done():
			}
		}()
		go func() { _ = served.ServeQUICConn(conn) }()
	}
}

func echo(w http.ResponseWriter) {
	w.WriteHeader(http.StatusOK)
	stream, err := w.(http3.HTTPStreamer).HTTPStream()
	if err != nil {
		return
	}
	defer stream.Close()
	for {
		opcode, payload, err := readFrame(stream)
		if err != nil {
			return
		}
		if _, err := stream.Write(append([]byte{0x80 | opcode, byte(len(payload))}, payload...)); err != nil || opcode == 8 {
			return
		}
	}
}

// readFrame reads a WebSocket frame of less than 126 bytes (RFC 6455 §5.2).
func readFrame(from io.Reader) (byte, []byte, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(from, head); err != nil {
		return 0, nil, err
	}
	var key [4]byte
	if head[1]&0x80 != 0 {
		if _, err := io.ReadFull(from, key[:]); err != nil {
			return 0, nil, err
		}
	}
	payload := make([]byte, head[1]&0x7f)
	if _, err := io.ReadFull(from, payload); err != nil {
		return 0, nil, err
	}
	for i := range payload {
		payload[i] ^= key[i%4]
	}
	return head[0] & 15, payload, nil
}

type asked struct {
	secrets *tls.Config
	early   bool
	out     string
}

// client gets files, or has messages echoed.
func client(flags *flag.FlagSet, args []string) error {
	ca := flags.String("ca", "", "")
	out := flags.String("out", ".", "")
	resume := flags.Bool("resume", false, "")
	early := flags.Bool("early", false, "")
	websocket := flags.Bool("websocket", false, "")
	migrate := flags.Bool("migrate", false, "")
	_ = flags.Parse(args)
	text, err := os.ReadFile(*ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	secrets := &tls.Config{RootCAs: roots, NextProtos: []string{http3.NextProtoH3}, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	job := asked{secrets: secrets, out: *out}
	urls := flags.Args()
	if *resume || *early {
		if _, err := job.visit(urls[:1], func(*quic.Conn) error { return nil }); err != nil {
			return err
		}
		urls = urls[1:]
	}
	job.early = *early
	between := func(*quic.Conn) error { return nil }
	if *migrate {
		between = move
	}
	var state quic.ConnectionState
	if *websocket {
		state, err = job.converse(urls[0])
	} else {
		state, err = job.visit(urls, between)
	}
	if err != nil {
		return err
	}
	awaitQlogs()
	say(handshake(state))
	return nil
}

func (job asked) dial(address string) (*quic.Conn, error) {
	remote, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{})
	if err != nil {
		return nil, err
	}
	// A transport of its own has connection IDs, without which no other path can be told from this one.
	ctx, transport := context.Background(), &quic.Transport{Conn: socket}
	secrets := job.secrets.Clone()
	secrets.ServerName, _, _ = net.SplitHostPort(address)
	if job.early {
		return transport.DialEarly(ctx, remote, secrets, settings())
	}
	return transport.Dial(ctx, remote, secrets, settings())
}

// visit gets all URLs at once over one connection; `between` runs after the first of them.
func (job asked) visit(urls []string, between func(*quic.Conn) error) (quic.ConnectionState, error) {
	first, err := url.Parse(urls[0])
	if err != nil {
		return quic.ConnectionState{}, err
	}
	conn, err := job.dial(first.Host)
	if err != nil {
		return quic.ConnectionState{}, err
	}
	transport := &http3.Transport{DisableCompression: true}
	over := transport.NewClientConn(conn)
	defer conn.CloseWithError(0, "")
	results := make(chan error, len(urls))
	var started sync.WaitGroup
	for number, one := range urls {
		started.Add(1)
		go func() {
			defer started.Done()
			results <- job.get(over, one)
		}()
		if number == 0 {
			if err := between(conn); err != nil {
				return quic.ConnectionState{}, err
			}
		}
	}
	for range urls {
		err = errors.Join(err, <-results)
	}
	started.Wait()
	if err == nil {
		// The session's ticket comes after the handshake.
		select {
		case <-conn.HandshakeComplete():
		case <-time.After(5 * time.Second):
		}
		time.Sleep(100 * time.Millisecond)
	}
	return conn.ConnectionState(), err
}

func (job asked) get(over *http3.ClientConn, from string) error {
	method := http.MethodGet
	if job.early {
		method = http3.MethodGet0RTT
	}
	request, err := http.NewRequest(method, from, nil)
	if err != nil {
		return err
	}
	response, err := over.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", from, response.Status)
	}
	file, err := os.Create(filepath.Join(job.out, filepath.Base(request.URL.Path)))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(file, response.Body)
	return err
}

// move goes on from another port of this machine.
func move(conn *quic.Conn) error {
	time.Sleep(30 * time.Millisecond)
	socket, err := net.ListenUDP("udp", &net.UDPAddr{})
	if err != nil {
		return err
	}
	path, err := conn.AddPath(&quic.Transport{Conn: socket})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := path.Probe(ctx); err != nil {
		return fmt.Errorf("probing the new path: %w", err)
	}
	return path.Switch()
}

// converse opens a WebSocket by an extended CONNECT, and has every message back.
func (job asked) converse(at string) (quic.ConnectionState, error) {
	none := quic.ConnectionState{}
	target, err := url.Parse(at)
	if err != nil {
		return none, err
	}
	conn, err := job.dial(target.Host)
	if err != nil {
		return none, err
	}
	defer conn.CloseWithError(0, "")
	over := (&http3.Transport{}).NewClientConn(conn)
	select {
	case <-over.ReceivedSettings():
	case <-time.After(5 * time.Second):
		return none, errors.New("no SETTINGS came")
	}
	if !over.Settings().EnableExtendedConnect {
		return none, errors.New("the server does not offer extended CONNECT")
	}
	stream, err := over.OpenRequestStream(context.Background())
	if err != nil {
		return none, err
	}
	request := &http.Request{
		Method: http.MethodConnect, Proto: "websocket", Host: target.Host, URL: target,
		Header: http.Header{"Sec-Websocket-Version": {"13"}},
	}
	if err := stream.SendRequestHeader(request); err != nil {
		return none, err
	}
	response, err := stream.ReadResponse()
	if err != nil {
		return none, err
	}
	if response.StatusCode != http.StatusOK {
		return none, fmt.Errorf("the WebSocket was refused: %s", response.Status)
	}
	for number := range messages {
		if _, err := stream.Write(masked(fmt.Sprint(message, number))); err != nil {
			return none, err
		}
	}
	for number := range messages {
		_, payload, err := readFrame(stream)
		if err != nil || string(payload) != fmt.Sprint(message, number) {
			return none, fmt.Errorf("message %d came back as %q: %w", number, payload, err)
		}
	}
	return conn.ConnectionState(), nil
}

func masked(text string) []byte {
	frame := append([]byte{0x81, 0x80 | byte(len(text))}, mask[:]...)
	for i := range len(text) {
		frame = append(frame, text[i]^mask[i%4])
	}
	return frame
}
