#!/usr/bin/env python3
"""A worker for Outlast in Python's standard library: edit HANDLERS, and run it.

worker.py        pull: claims tasks from the daemon at OUTLAST_URL (with OUTLAST_TOKEN, if it wants one) and runs them.
worker.py PORT   push: listens for deliveries of a daemon that was started with --push KIND=http://this-host:PORT/
"""
import json, os, signal, sys, threading, time, urllib.error, urllib.request, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

URL = os.environ.get("OUTLAST_URL", "http://127.0.0.1:7070")
TOKEN = os.environ.get("OUTLAST_TOKEN", "")
QUEUE = os.environ.get("OUTLAST_QUEUE", "default")
JOIN = {"name": "python", "beat": float(os.environ.get("OUTLAST_BEAT", 2)), "deadAfter": float(os.environ.get("OUTLAST_DEAD_AFTER", 15))}


def shout(args):
    """A handler takes the args and returns the result. What it raises is tried again; ValueError fails for good."""
    time.sleep(args.get("sleep", 0))
    return {"text": args["text"].upper()}


HANDLERS = {"shout": shout}


def post(path, body):
    """Returns the status and the answer. A daemon that is away is asked again until it is there: every request may be repeated."""
    headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + TOKEN} if TOKEN else {})}
    while True:
        try:
            request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=90) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            if e.code not in (429, 503):
                return e.code, json.loads(e.read() or b"{}")
        except OSError:
            pass
        if "nonce" in body:
            body["repeat"] = True  # the claim may have been made, and its answer lost: ask for what it holds
        time.sleep(1)


def run(task):
    """The verdict on one task, for the daemon."""
    try:
        return {"verdict": "done", "result": HANDLERS[task["kind"]](task.get("args"))}
    except ValueError as e:
        return {"verdict": "fail", "message": str(e), "type": "value"}
    except Exception as e:
        return {"verdict": "error", "message": repr(e), "type": type(e).__name__}


def beat(worker, every, stop):
    """Says that the worker lives while a handler runs. Silent for deadAfter, its tasks go to others."""
    while not stop.wait(every):
        if post(f"/v1/workers/{worker}/beat", {"running": 1})[0] == 409:
            return  # taken for dead: what is completed now is refused


def pull():
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    worker = None
    while not stopping.is_set():
        if worker is None:
            status, joined = post("/v1/workers", {**JOIN, "kinds": list(HANDLERS), "queues": {QUEUE: 1}})
            if status != 201:
                sys.exit(f"cannot join: {status} {joined.get('detail')}")
            worker, every = joined["worker"], joined["beatSeconds"]
        claim = {"queues": {QUEUE: 1}, "kinds": list(HANDLERS), "wait": 20, "nonce": str(uuid.uuid4())}
        status, claimed = post(f"/v1/workers/{worker}/claim", claim)
        if status == 409:  # it was silent for too long: it goes on as another worker
            worker = None
        for task in claimed.get("tasks", []):
            done = threading.Event()
            beats = threading.Thread(target=beat, args=(worker, every, done), daemon=True)
            beats.start()
            verdict = run(task)
            done.set()
            status, answer = post(f"/v1/tasks/{task['id']}/complete", {"fence": task["fence"], **verdict})
            print(task["id"], verdict["verdict"] if status == 200 else "refused", status, flush=True)
    post(f"/v1/workers/{worker}/leave", {})


class Deliveries(BaseHTTPRequestHandler):
    def do_POST(self):
        args = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"null")
        verdict = run({"kind": self.headers["Outlast-Kind"], "args": args})
        body = json.dumps(verdict.get("result", verdict)).encode()
        self.send_response({"done": 200, "fail": 422, "error": 503}[verdict["verdict"]])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Deliveries).serve_forever() if len(sys.argv) > 1 else pull()
