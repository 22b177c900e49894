# Drives boto3 by lines of JSON: {"service", "op", "params"} makes one call,
# with "waiter" in place of "op" one waiter, with "pages" all pages of an op.
# Each line is answered by one: {"code", "status", "answer"}.
import json
import sys

import boto3
import botocore
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError, WaiterError

session = boto3.session.Session()
once = Config(retries={"total_max_attempts": 1}, parameter_validation=True)
clients = {}


def client(service, region, endpoint):
    key = (service, region)
    if key not in clients:
        clients[key] = session.client(service, region_name=region, endpoint_url=endpoint, config=once)
    return clients[key]


def call(line):
    c = client(line["service"], line["region"], line["endpoint"])
    if "waiter" in line:
        c.get_waiter(line["waiter"]).wait(WaiterConfig={"Delay": 1, "MaxAttempts": 20}, **line["params"])
        return {}
    name = xform_name(line["op"])
    if line.get("pages"):
        pages = list(c.get_paginator(name).paginate(PaginationConfig={"PageSize": line["pages"]}, **line["params"]))
        whole = {}
        for page in pages:
            for key, value in page.items():
                if isinstance(value, list):
                    whole.setdefault(key, []).extend(value)
        return whole
    answer = getattr(c, name)(**line["params"])
    answer.pop("ResponseMetadata", None)
    return answer


print(json.dumps({"boto3": boto3.__version__, "botocore": botocore.__version__}), flush=True)
for text in sys.stdin:
    out = {"code": "", "status": 200, "answer": {}}
    try:
        out["answer"] = call(json.loads(text))
    except ClientError as e:
        out["code"] = e.response["Error"]["Code"]
        out["status"] = e.response["ResponseMetadata"]["HTTPStatusCode"]
        out["message"] = e.response["Error"].get("Message", "")
    except WaiterError as e:
        out["code"], out["status"], out["message"] = "WaiterError", 0, str(e)
    except Exception as e:  # what boto3 itself does not let through
        out["code"], out["status"], out["message"] = type(e).__name__, 0, str(e)
    print(json.dumps(out, default=lambda t: t.isoformat()), flush=True)
