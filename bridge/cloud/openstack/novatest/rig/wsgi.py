# Serves one WSGI application with a thread for each request:
# wsgi.py MODULE FUNCTION PORT [arguments of the application]
import importlib
import socketserver
import sys
import wsgiref.simple_server


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 128


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def address_string(self):
        return self.client_address[0]

    def log_message(self, *args):
        pass


module, function, port = sys.argv[1:4]
del sys.argv[1:4]
app = getattr(importlib.import_module(module), function)()
wsgiref.simple_server.make_server("0.0.0.0", int(port), app, Server, Handler).serve_forever()
