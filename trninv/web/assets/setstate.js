import{S as e,b as t,f as n,g as r,r as i,s as a,t as o,w as s}from"./jsxRuntime.js";import{i as c,m as l,s as u,u as d}from"./api.js";import{c as f,i as p,n as m,p as h}from"./state.js";import{a as g,c as _,d as v,l as y,t as b,u as x}from"./words.js";import{n as S,t as C}from"./confirmation.js";import{p as w}from"./index.js";import{t as T}from"./parts.js";var E=c(`fragment Seen on Event { event at who why }`),D=c(`
  query Named(
    $servers: [Address!]!, $chips: [Address!]!, $switches: [Address!]!, $nics: [Address!]!
    $nodes: [Address!]!, $links: [Address!]!
  ) {
    events(last: 1) { nodes { event } }
    servers(filter: { address: { in: $servers } }, first: 400) {
      nodes { kind: __typename address state factor lastChange { ...Seen } chips(first: 64) { nodes { address state job } } }
    }
    chips(filter: { address: { in: $chips } }, first: 1000) {
      nodes { kind: __typename address state factor job lastChange { ...Seen } }
    }
    switches(filter: { address: { in: $switches } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    nics(filter: { address: { in: $nics } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    networkNodes(filter: { address: { in: $nodes } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    links(filter: { address: { in: $links } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
  }
`,[E]),O=c(`
  mutation Set($input: SetStateInput!) {
    setState(input: $input) {
      changes {
        address before factorBefore after
        target {
          ... on Server { state lastChange { event } }
          ... on Chip { state lastChange { event } }
          ... on Switch { state lastChange { event } }
          ... on Nic { state lastChange { event } }
          ... on NetworkNode { state lastChange { event } }
          ... on Link { state lastChange { event } }
        }
      }
    }
  }
`),k=c(`
  fragment Able on CapabilityAnswer {
    chips idleLinks
    halves { exact upper { gigabytesPerSecond } }
  }
`),A=c(`
  query CapabilityIf($scope: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      capability(scope: $scope) { ...Able difference { incomparable } baseline { ...Able } }
    }
  }
`,[k]),j=c(`
  query FlowIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [DeratingInput!]!) {
    whatIf(down: $down, derate: $derate) {
      bandwidth(from: $from, to: $to) {
        maximumFlow { gigabytesPerSecond }
        baseline { maximumFlow { gigabytesPerSecond } }
      }
    }
  }
`),M=c(`
  query Brought($scope: Address!) {
    incidents(scope: $scope, first: 1) {
      nodes {
        id causes causeCount
        impact {
          domains {
            domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
            bisectionBefore { upper { gigabytesPerSecond } exact }
            bisectionNow { upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function N(e){let[t,n,r,i]=[/\/s\d+$/,/\/c\d+$/,/\/sw\d+$/,/\/efa\d+$/].map(t=>e.filter(e=>!e.includes(`--`)&&t.test(e))),a=e.filter(e=>e.includes(`--`)),o=new Set([t,n,r,i,a].flat());return{servers:t,chips:n,switches:r,nics:i,nodes:e.filter(e=>!o.has(e)),links:a}}var P=e=>[...e.servers.nodes,...e.chips.nodes,...e.switches.nodes,...e.nics.nodes,...e.networkNodes.nodes,...e.links.nodes],F={Nic:`NIC`,NetworkNode:`network node`};function I(e){let t=new Map;for(let{kind:n}of e)t.set(n,(t.get(n)??0)+1);return[...t].map(([e,t])=>y(t,F[e]??e.toLowerCase())).join(`, `)}var L=(e,t)=>`Set ${I(e)} to ${t}`;function R(e){let t=e.flatMap(e=>`chips`in e?e.chips.nodes:`job`in e?[e]:[]);return new Map(t.map(e=>[e.address,e]))}var z=({lastChange:e})=>e?.event??0;function B(e,t){for(let n of t)e.has(n.address)||e.set(n.address,{state:n.state,event:z(n)})}var V=(e,t)=>t.filter(t=>e.get(t.address)?.event!==z(t)),H=[`up`,`degraded`];function U(e,t,n){let r=!H.includes(t),i=e.filter(({state:e})=>H.includes(e));if(r)return{down:i.map(({address:e})=>e),derate:[]};let a=e=>n/(e.factor??1);return i.length===e.length&&t===`degraded`&&e.every(e=>a(e)<=1)?{down:[],derate:e.filter(e=>a(e)<1).map(e=>({address:e.address,factor:a(e)}))}:null}function W(e){let t=new Map;for(let n of e){let e=`${+!!/\/s\d+$/.test(n.address)} ${n.before} ${n.factorBefore}`;t.set(e,[...t.get(e)??[],n])}return[...t].sort(([e],[t])=>e<t?-1:1).map(([,e])=>e)}var G=2;function K({things:e,to:t,factor:n,route:i}){let{reached:a}=r(),s=U(e,t,n),c=[...new Set(e.map(({address:e})=>w(e)))].filter(Boolean),l=s&&!s.down.length&&!s.derate.length;return o(`section`,{class:`would`,"aria-label":`What this would change`,children:[o(`h3`,{children:[`What this would change `,o(`span`,{class:`quiet`,children:[`as of `,f(a),` UTC`]})]}),l&&o(`p`,{class:`quiet`,children:`No effect on capacity.`}),s&&!l&&c.slice(0,G).map(e=>o(Y,{domain:e,assumed:s,route:i},e)),s&&!l&&c.length>G&&o(`p`,{class:`quiet`,children:[`and `,y(c.length-G,`more domain`)]}),s&&!c.length&&!l&&o(`p`,{class:`quiet`,children:`Not in a scale-up domain, so no NeuronLink changes.`}),!s&&o(Z,{things:e,to:t}),o(Q,{things:e,to:t})]})}function q({name:e,before:t,now:n,unit:r=``,isBad:i=!1,incomparable:a}){let s=n-t,c=a?`not comparable: ${a}`:g(t,n)||`no change`;return o(`div`,{children:[o(`dt`,{children:e}),o(`dd`,{children:[o(T,{now:`${_(n)}${r}`,before:_(t)+(s?``:r)}),o(`span`,{class:s<0!==i&&s&&!a?`less`:`quiet`,children:c})]})]})}function J({result:e,children:t}){return e.error?o(`p`,{class:`failure`,children:e.error.message}):e.data===void 0?e.loading?o(`p`,{class:`quiet`,children:`Computing…`}):null:o(`dl`,{class:e.loading?`figures stale`:`figures`,"aria-busy":e.loading,children:t(e.data)})}function Y({domain:e,assumed:t,route:n}){let{from:r,to:i}=n.view===`domain`&&n.subject===e?n.options:{},a=r&&i?{from:b(e,r),to:b(e,i)}:null,c=l(u(A,{scope:e,...t})),d=l(a&&u(j,{...a,...t}));return o(s,{children:[o(J,{result:c,children:({whatIf:{capability:t}})=>t.baseline&&o(X,{domain:e,chips:[t.baseline.chips,t.chips],links:[t.baseline.idleLinks,t.idleLinks],halves:[t.baseline.halves,t.halves],incomparable:t.difference?.incomparable})}),a&&o(J,{result:d,children:({whatIf:{bandwidth:t}})=>o(q,{name:`Maximum flow ${x(e,a.from)} to ${x(e,a.to)}`,before:t.baseline?.maximumFlow.gigabytesPerSecond??0,now:t.maximumFlow.gigabytesPerSecond,unit:` GB/s`})})]})}function X({domain:e,chips:t,links:n,halves:[r,i],incomparable:a}){return o(s,{children:[o(q,{name:`Working chips in ${e}`,before:t[0],now:t[1]}),o(q,{name:`Idle links`,before:n[0],now:n[1],isBad:!0}),o(q,{name:r.exact&&i.exact?`Bisection`:`Bisection, at most`,before:r.upper.gigabytesPerSecond,now:i.upper.gigabytesPerSecond,unit:` GB/s`,incomparable:a})]})}function Z({things:e,to:t}){let n=e.find(({state:e})=>e!==`up`)?.address,r=l(t===`up`&&n?u(M,{scope:n}):null),i=new Set(e.map(({address:e})=>e));return t!==`up`||!n?o(`p`,{class:`quiet`,children:`Capacity will increase. The numbers are known once the state is set.`}):o(J,{result:r,children:({incidents:{nodes:e}})=>{let t=e[0];return t?t.causeCount>t.causes.length||!t.causes.every(e=>i.has(e))?o(`p`,{class:`quiet`,children:[`Part of incident `,t.id,`, which has `,y(t.causeCount,`cause`),`. What the other causes took down stays down.`]}):t.impact.domains.map(e=>o(X,{domain:e.domain,chips:[e.chipsNow,e.chipsBefore],links:[e.idleLinksNow,e.idleLinksBefore],halves:[e.bisectionNow,e.bisectionBefore],incomparable:e.incomparable},e.domain)):o(`p`,{class:`quiet`,children:`Not part of an incident.`})}})}function Q({things:e,to:t}){let n=new Map;for(let{address:t,job:r}of R(e).values())r&&n.set(r,[...n.get(r)??[],t]);return t===`up`?null:o(`ul`,{class:`plain`,children:[...n].map(([e,t])=>o(`li`,{children:[o(m,{state:`degraded`}),` job `,e,` uses `,_(t.length),` of these chips`,` `,o(`a`,{href:i(`jobs`,``,{in:w(t[0]??``),fit:`chips:${t.length}`}),target:`_blank`,rel:`noopener`,children:`Find another placement`})]},e))})}var $=e=>Math.max(0,...e.map(({target:e})=>`lastChange`in e?e.lastChange?.event??0:0)),ee=e=>({message:e.message,undo:e.changes.length?()=>te(e):void 0});async function te({changes:e,why:t,who:r}){let i=$(e);for(let a of W(e)){let e={addresses:a.map(({address:e})=>e),state:a[0]?.before.toUpperCase(),factor:a[0]?.factorBefore??null,why:`undone: ${t}`.slice(0,1e3),who:r,unchangedSince:i},{setState:o}=await d({...u(O,{input:e}),at:``});n($(o.changes))}}var ne=[`up`,`degraded`,`down`,`maintenance`],re=1e3;function ie(e){e.places.length&&S(t=>o(ae,{change:e,close:t}))}function ae({change:r,close:i}){let c=t(new Map),f=a(),[m,h]=e(()=>[...new Set(r.places)]),[g,v]=e(r.state),[y,b]=e(String(r.factor??.5)),x=l(u(D,N(m))),S=x.data?P(x.data):[];B(c.current,S);let w=V(c.current,S),T=R(S).size,E=Number(y),k=!x.loading&&S.length>0&&S.length<m.length,A=async({why:e,who:t})=>{let r={addresses:S.map(({address:e})=>e),state:g.toUpperCase(),factor:g===`degraded`?E:null,why:e,who:t,unchangedSince:x.data?.events.nodes[0]?.event??0},{setState:i}=await d({...u(O,{input:r}),at:``});return n($(i.changes)),ee({message:oe(S,i.changes,g),why:e,who:t,changes:i.changes})},j=o(s,{children:[o(se,{things:x.error||!x.data?m.map(e=>({address:e})):S,places:m,set:h}),k&&o(`p`,{class:`failure`,role:`alert`,children:[`Only `,_(S.length),` of `,_(m.length),` parts were loaded. Set fewer at once.`]}),x.error&&o(`p`,{class:`failure`,role:`alert`,children:x.error.message}),o(`fieldset`,{class:`to`,children:[o(`legend`,{children:`New state`}),ne.map(e=>o(`label`,{class:e,children:[o(`input`,{type:`radio`,name:`to`,value:e,checked:e===g,onChange:()=>v(e)}),o(p,{state:e,children:e})]},e))]}),g===`degraded`&&o(`label`,{children:[`Remaining capacity, between 0 and 1`,o(`input`,{type:`number`,name:`factor`,required:!0,min:`0.000001`,max:`0.999999`,step:`any`,value:y,onInput:e=>b(e.currentTarget.value)})]})]});return o(C,{title:`Set state`,action:L(S,g),tone:g===`up`?``:g,asks:[`why`,`who`],most:re,ready:!x.loading&&S.length>0&&!k,note:`Takes effect immediately`,subject:j,apply:A,describe:({message:e})=>w.length?null:e,close:i,children:[S.length>0&&(g!==`degraded`||E>0&&E<1)&&o(K,{things:S,to:g,factor:E,route:f}),T>16&&o(`label`,{children:[`This affects `,_(T),` chips. Type the number to confirm`,o(`input`,{name:`count`,required:!0,inputMode:`numeric`,autocomplete:`off`,pattern:String(T),title:String(T)})]}),w.length>0&&o(ce,{things:w,seen:c.current})]})}function oe(e,t,n){if(!t.length)return`No change: ${I(e)} already ${h(n)}`;let r=t.filter(({after:e,target:t})=>`state`in t&&t.state!==e).length,i=r?`; ${_(r)} will be ${h(n)} once the server is`:``;return`${I(e)} set to ${n}${i}`}function se({things:t,places:n,set:r}){let[i,a]=e(!1),s=e=>{let t=e.value.trim().toLowerCase();t&&r([...new Set([...n,t])]),a(!1)};return o(`div`,{class:`what`,children:[o(`h3`,{children:`Parts`}),o(`ul`,{children:[t.slice(0,8).map(({address:e,state:t})=>o(`li`,{children:[o(`strong`,{children:v(e)}),` `,t&&o(p,{state:t}),n.length>1&&o(`button`,{type:`button`,class:`plain`,"aria-label":`Remove ${e}`,onClick:()=>r(n.filter(t=>t!==e)),children:`×`})]},e)),t.length>8&&o(`li`,{class:`quiet`,children:[`and `,_(t.length-8),` more`]}),o(`li`,{children:i?o(`input`,{"aria-label":`Another address`,ref:e=>e?.focus(),spellcheck:!1,autocomplete:`off`,onKeyDown:e=>{(e.key===`Enter`||e.key===`Escape`)&&(e.preventDefault(),e.key===`Escape`&&(e.currentTarget.value=``),s(e.currentTarget))},onBlur:e=>s(e.currentTarget)}):o(`button`,{type:`button`,class:`plain`,onClick:()=>a(!0),children:`+ Add`})})]})]})}function ce({things:e,seen:t}){return o(`div`,{class:`conflict`,role:`alert`,children:[o(`strong`,{children:`Changed since you opened this dialog`}),o(`ul`,{class:`plain`,children:e.map(({address:e,state:n,lastChange:r})=>o(`li`,{children:[o(m,{state:n}),` `,v(e),` was `,t.get(e)?.state,`, now `,h(n),r&&`, ${f(r.at)} UTC, ${r.who}: ${r.why}`]},e))}),o(`label`,{children:[o(`input`,{type:`checkbox`,required:!0}),` Set anyway`]},e.map(({lastChange:e})=>e?.event).join())]})}export{ie as open};