-- Ids that are made of their parts, as store.DeriveID makes them: the same parts, the same id. What is known when a task is
-- submitted comes with it; only a Retry, which begins another round or generation, needs to make one here.
-- The constants of SHA-256 are the first bits of the fractions of the roots of primes.
local function fraction(x)
	local f = x - floor(x)
	return floor(f * 4294967296)
end

local function primes(n)
	local list, candidate = {}, 2
	while #list < n do
		local prime = true
		for _, p in ipairs(list) do
			if candidate % p == 0 then
				prime = false
				break
			end
		end
		if prime then list[#list + 1] = candidate end
		candidate = candidate + 1
	end
	return list
end

-- cbrt is the cube root, as exact as a double can be.
local function cbrt(p)
	local x = p ^ (1 / 3)
	return x - (x * x * x - p) / (3 * x * x)
end

local function block(h, k, text, at)
	local band, bxor, bnot, rshift, ror = bit.band, bit.bxor, bit.bnot, bit.rshift, bit.ror
	local w = {}
	for i = 0, 15 do w[i] = struct.unpack('>I4', text, at + 4 * i) end
	for i = 16, 63 do
		local a, b = w[i - 15], w[i - 2]
		local s0 = bxor(ror(a, 7), ror(a, 18), rshift(a, 3))
		local s1 = bxor(ror(b, 17), ror(b, 19), rshift(b, 10))
		w[i] = (w[i - 16] + s0 % 4294967296 + w[i - 7] + s1 % 4294967296) % 4294967296
	end
	local v = { h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8] }
	for i = 0, 63 do
		local a, e = v[1], v[5]
		local s1 = bxor(ror(e, 6), ror(e, 11), ror(e, 25)) % 4294967296
		local ch = bxor(band(e, v[6]), band(bnot(e), v[7])) % 4294967296
		local t1 = v[8] + s1 + ch + k[i + 1] + w[i]
		local s0 = bxor(ror(a, 2), ror(a, 13), ror(a, 22)) % 4294967296
		local maj = bxor(band(a, v[2]), band(a, v[3]), band(v[2], v[3])) % 4294967296
		v = { (t1 + s0 + maj) % 4294967296, a, v[2], v[3], (v[4] + t1) % 4294967296, e, v[6], v[7] }
	end
	for i = 1, 8 do h[i] = (h[i] + v[i]) % 4294967296 end
end

local function sha256(text)
	local h, k = {}, {}
	for i, p in ipairs(primes(64)) do
		if i <= 8 then h[i] = fraction(math.sqrt(p)) end
		k[i] = fraction(cbrt(p))
	end
	local bits = #text * 8
	text = text .. '\128' .. string.rep('\0', (55 - #text) % 64) .. struct.pack('>I8', bits)
	for at = 1, #text, 64 do block(h, k, text, at) end
	local out = {}
	for i = 1, 8 do out[i] = struct.pack('>I4', h[i]) end
	return concat(out)
end

local function derive(...)
	local parts = {}
	for _, p in ipairs({ ... }) do parts[#parts + 1] = struct.pack('>I8', #p) .. p end
	local d = sha256(concat(parts))
	local function mark(i, keep, set) return string.char(bit.bor(bit.band(d:byte(i), keep), set)) end
	return sub(d, 1, 6) .. mark(7, 0x0f, 0x80) .. sub(d, 8, 8) .. mark(9, 0x3f, 0x80) .. sub(d, 10, 16)
end
