# Stands for the network service: one network, whose ports get addresses and
# reach nothing. It keeps them in memory.
import http.server
import json
import threading
import urllib.parse
import uuid

NETWORK, SUBNET, GROUP = (str(uuid.uuid5(uuid.NAMESPACE_DNS, n)) for n in ("network", "subnet", "group"))
lock, ports, given = threading.Lock(), {}, iter(range(10, 1 << 14))

fixed = {
    "networks": [{"id": NETWORK, "name": "batch", "tenant_id": "", "project_id": "", "shared": True, "status": "ACTIVE", "mtu": 1450,
                  "admin_state_up": True, "port_security_enabled": True, "router:external": False, "subnets": [SUBNET],
                  "provider:network_type": "flat", "provider:physical_network": "batch"}],
    "subnets": [{"id": SUBNET, "name": "batch", "network_id": NETWORK, "cidr": "10.99.0.0/16", "ip_version": 4, "gateway_ip": "10.99.0.1",
                 "enable_dhcp": False, "dns_nameservers": [], "host_routes": [], "ipv6_address_mode": None, "ipv6_ra_mode": None}],
    "security-groups": [{"id": GROUP, "name": "default", "tenant_id": "", "description": "", "security_group_rules": []}],
    "floatingips": [],
    "extensions": [],
}


def matches(item, query):
    return all(str(item[k]) in v or k in ("tenant_id", "project_id") for k, v in query.items() if k in item)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=None):
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def missing(self, what):
        self.answer(404, {"NeutronError": {"type": what + "NotFound", "message": what + " could not be found.", "detail": ""}})

    def where(self):
        url = urllib.parse.urlsplit(self.path)
        parts = url.path.strip("/").split("/")[1:] + ["", ""]
        return parts[0].removesuffix(".json"), parts[1].removesuffix(".json"), urllib.parse.parse_qs(url.query)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def do_GET(self):
        kind, name, query = self.where()
        query.pop("fields", None)
        if not kind:
            at = "http://%s/v2.0/" % self.headers["Host"]
            return self.answer(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": at}]}]})
        with lock:
            if kind == "quotas":
                return self.answer(200, {"quota": {"port": -1, "network": -1, "security_group": -1, "floatingip": -1}})
            items = list(ports.values()) if kind == "ports" else fixed.get(kind)
            if items is None:
                return self.missing(kind)
            if not name:
                return self.answer(200, {kind.replace("-", "_"): [i for i in items if matches(i, query)]})
            for item in items:
                if item["id"] == name:
                    return self.answer(200, {kind.replace("-", "_")[:-1]: item})
            self.missing(kind)

    def do_POST(self):
        want = self.body()["port"]
        with lock:
            if want["network_id"] != NETWORK:
                return self.missing("Network")
            n = next(given)
            port = {"id": str(uuid.uuid4()), "name": "", "status": "ACTIVE", "admin_state_up": True, "tenant_id": "", "device_id": "", "device_owner": "",
                    "mac_address": "fa:16:3e:%02x:%02x:%02x" % (n >> 16, n >> 8 & 255, n & 255), "security_groups": [GROUP],
                    "fixed_ips": [{"subnet_id": SUBNET, "ip_address": "10.99.%d.%d" % (n >> 8, n & 255)}], "binding:vif_type": "bridge",
                    "binding:vnic_type": "normal", "binding:vif_details": {}, "binding:profile": {}, "binding:host_id": "",
                    "allowed_address_pairs": [], "extra_dhcp_opts": [], **want}
            ports[port["id"]] = port
            self.answer(201, {"port": port})

    def do_PUT(self):
        _, name, _ = self.where()
        with lock:
            if name not in ports:
                return self.missing("Port")
            ports[name].update(self.body()["port"])
            self.answer(200, {"port": ports[name]})

    def do_DELETE(self):
        _, name, _ = self.where()
        with lock:
            if ports.pop(name, None) is None:
                return self.missing("Port")
            self.answer(204)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


Server(("0.0.0.0", 9696), Handler).serve_forever()
