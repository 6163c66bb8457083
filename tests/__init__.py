"""The tests. Some import onnxruntime before the program does, which then would report to its makers."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
