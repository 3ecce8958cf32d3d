"""Serve a tiny Llama with vLLM and check every token it writes.

Its weights are made here so that the answer is known: each token attends to all before it
alike, and the next token is one more than the token that has the most weight.
"""

# --- block: protocol (the same in every script that has it; a test holds them together)
import json
import os
import sys

REPORT = sys.stdout
if __name__ == "__main__":
    REPORT = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the framework prints is no part of the report
EXPECT = json.loads(os.environ.get("IMGBUILD_EXPECT") or "{}")
STACK = (EXPECT.get("stack") or {}).get("name") or "cpu"


def finish(code, reason=None, **values):
    """End with the report as the last line: 0 passed, 77 skipped, anything else failed."""
    REPORT.write(json.dumps({"values": values, "reason": reason}) + "\n")
    REPORT.flush()
    sys.exit(code)


# --- end of block


# --- block: compare (the same in every script that has it; a test holds them together)
def compare(name, got, known, tolerance=0.0):
    """Fail unless every number is the known one; return how many were compared."""
    if len(got) != len(known):
        finish(1, "%s has %d values, expected %d" % (name, len(got), len(known)))
    for place, (one, right) in enumerate(zip(got, known)):
        if not abs(one - right) <= tolerance * max(1.0, abs(right)):  # so that NaN fails too
            finish(1, "%s[%d] is %r, expected %r" % (name, place, one, right), computed_on=STACK)
    return len(known)


# --- end of block


# --- block: nodes (the same in every script that has it; a test holds them together)
# Where the kernel shows the device of a stack to a container; none there, and there is nothing to test.
NODES = {
    "cuda": ["/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/dxg"],
    "rocm": ["/dev/kfd", "/dev/dxg"],
    "gaudi": ["/dev/accel/accel*", "/dev/hl[0-9]*"],
    "oneapi": ["/dev/dri/renderD*", "/dev/dxg"],
    "neuron": ["/dev/neuron*"],
    "tpu": ["/dev/accel*", "/dev/vfio/[0-9]*"],
}


def absent(seen_by, **values):
    """End where the framework sees no device: skipped when none is here, failed when the kernel shows one."""
    import glob

    there = sorted(path for pattern in NODES.get(STACK, ()) for path in glob.glob(pattern))
    if there:
        finish(1, "%s is here, but %s sees no %s device" % (there[0], seen_by, STACK), **values)
    finish(77, "no %s device is in this container" % STACK, **values)


# --- end of block

VOCABULARY = 64
PROMPT = [5, 9, 9, 9, 3]
WRITTEN = 6
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": VOCABULARY,
    "intermediate_size": VOCABULARY,
    "vocab_size": VOCABULARY,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": VOCABULARY,
    "hidden_act": "silu",
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "torch_dtype": "float32",
}


def tokens():
    """Return the tokens the model must write, by counting."""
    seen, found = list(PROMPT), []
    for _ in range(WRITTEN):
        weight = [8 * seen.count(token) / len(seen) + (token == seen[-1]) for token in range(VOCABULARY)]
        found.append(weight.index(max(weight)) + 1)
        seen.append(found[-1])
    return found


def tensors():
    """Return every weight by name, as rows: identities, a shift by one, ones, and zeros."""
    size = range(VOCABULARY)
    same = [[float(row == column) for column in size] for row in size]
    shift = [[float(row == column + 1) for column in size] for row in size]
    nothing, layer = [[0.0] * VOCABULARY for _ in size], "model.layers.0."
    found = {"model.embed_tokens.weight": same, "lm_head.weight": shift, "model.norm.weight": [1.0] * VOCABULARY}
    found.update({layer + name + ".weight": [1.0] * VOCABULARY for name in ("input_layernorm", "post_attention_layernorm")})
    found.update({layer + "self_attn." + name + "_proj.weight": nothing for name in "qk"})
    found.update({layer + "self_attn." + name + "_proj.weight": same for name in "vo"})
    found.update({layer + "mlp." + name + "_proj.weight": nothing for name in ("gate", "up", "down")})
    return found


def write_model(folder):
    """Write config.json and model.safetensors, whose format is a length, a JSON heading and the numbers."""
    import struct

    heading, data = {"__metadata__": {"format": "pt"}}, bytearray()
    for name, rows in sorted(tensors().items()):
        flat = [number for row in rows for number in row] if isinstance(rows[0], list) else rows
        shape = [len(rows), len(rows[0])] if isinstance(rows[0], list) else [len(rows)]
        place = len(data)
        data += struct.pack("<%df" % len(flat), *flat)
        heading[name] = {"dtype": "F32", "shape": shape, "data_offsets": [place, len(data)]}
    text = json.dumps(heading).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(CONFIG, file)


def main():
    import tempfile

    os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1")
    import vllm

    from vllm.platforms import current_platform

    if not current_platform.device_type or (STACK != "cpu" and current_platform.device_type == "cpu"):
        absent("vLLM", version=vllm.__version__)
    old = STACK == "cuda" and not current_platform.has_device_capability(80)
    with tempfile.TemporaryDirectory() as folder:
        write_model(folder)
        engine = vllm.LLM(
            model=folder,
            skip_tokenizer_init=True,
            dtype="half" if old else "bfloat16",
            enforce_eager=True,
            max_model_len=VOCABULARY,
            gpu_memory_utilization=0.3,
        )
        how = vllm.SamplingParams(temperature=0, max_tokens=WRITTEN, ignore_eos=True, detokenize=False)
        got = engine.generate([{"prompt_token_ids": PROMPT}], how)[0].outputs[0].token_ids
    finish(0, device=STACK, version=vllm.__version__, checked=compare("token", list(got), tokens()))


if __name__ == "__main__":
    main()
