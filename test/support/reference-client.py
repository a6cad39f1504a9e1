"""A client as the reference implementation's users write it, in its documentation's words. Prints what it got as JSON.

Arguments: base address, API key, study, JSON of the levels.
"""
import json
import sys

import requests

base_url, api_key, study, levels = sys.argv[1:]
factors = json.loads(levels)


def told(response):
    return {
        "http_status": response.status_code,
        "content_type": response.headers["Content-Type"],
        "body": response.json(),
    }


config = requests.get(base_url + "/study_config", params={"api_key": api_key, "study": study})
randomized = requests.post(
    base_url + "/study_participants",
    params=dict({"api_key": api_key, "study": study, "id": "py – 1 (a+b)"}, **factors),
)
again = requests.post(
    base_url + "/study_participants",
    params=dict({"api_key": api_key, "study": study, "id": "py – 1 (a+b)"}, **factors),
)
participants = requests.get(base_url + "/study_participants", params={"api_key": api_key, "study": study})
no_study = requests.get(base_url + "/study_config", params={"api_key": api_key, "study": "none"})
no_key = requests.get(base_url + "/study_config", params={"study": study})
no_level = requests.post(
    base_url + "/study_participants", params={"api_key": api_key, "study": study, "id": "py-2"}
)

print(
    json.dumps(
        {
            "config": told(config),
            "randomized": told(randomized),
            "again": told(again),
            "participants": told(participants),
            "no_study": told(no_study),
            "no_key": told(no_key),
            "no_level": told(no_level),
            # Python's integers have no limit: what it read, it can write back.
            "seed": str(config.json()["results"].get("starting_seed")),
            "state": str(randomized.json()["results"][0].get("bg_state", {}).get("state", {}).get("state")),
        }
    )
)
